# shellcheck shell=bash disable=SC2034,SC2154 # values are shared with submit.sh
# What submitting the training job reads, asks and checks alike on Slurm and on Kubernetes; submit.sh reads this file and
# sets, before read_options:
#   OWN_USAGE, OWN_VALUES, OWN_FLAGS   lines of --help, and options with and without a value that only it has
#   IMAGE_FORMS, IMAGE_FILES           what --image takes, and whether that is a file, too (yes or no)
#   SHARED_BY                          which storage is shared, and by what
#   MEGATRON_SETTING                   where the folder of Megatron-LM is chosen
# and the functions set_own_value NAME VALUE, which fails for what only this file knows, and set_own_flag NAME.
# Bash 3.2 of macOS takes an empty array for an unset variable: hence ${name[@]+...} where one may be empty.

say() { printf '%s\n' "$*" >&2; }

misused() {
    say "submit.sh: $*"
    exit 2
}

problems=()
problem() { problems+=("$1"); }
refuse() {
    [ -n "${problems[*]-}" ] || return 0
    say "Nothing was submitted:"
    printf '  - %s\n' "${problems[@]}" >&2
    exit 1
}

[ -r "$here/job.env" ] || misused "$here/job.env is missing: submit.sh belongs into the folder of launch files"
# Values of the plan and the blueprint; what is empty there is asked for, and an option wins.
# shellcheck source=/dev/null
. "$here/job.env"

usage() {
    cat <<TEXT
usage: ./submit.sh [OPTIONS] [-- ARGUMENTS OF MEGATRON-LM]

  --image IMAGE           container image: $IMAGE_FORMS
  --get-megatron          fetch the release of Megatron-LM that the arguments were checked with
  --data PATH             tokenised data: Megatron-LM's .bin and .idx without that ending; made-up tokens without it
  --tokenizer WHAT        folder on $SHARED_BY, or a name of Hugging Face
  --tokenizer-type TYPE   as Megatron-LM has them (HuggingFaceTokenizer)
  --lr RATE               peak learning rate, for example 6e-5
  --check                 check everything, and submit nothing
  --yes                   ask nothing; without a terminal nothing is asked anyway
TEXT
    [ -z "$OWN_USAGE" ] || printf '%s\n' "$OWN_USAGE"
}

check_only=no asks=yes get_megatron=no
# The options, again as one entry each, for the same script on another machine; and the arguments of Megatron-LM.
words=() further=()

set_value() {
    if set_own_value "$1" "$2"; then return; fi
    case $1 in
    --image) CONTAINER_IMAGE=$2 ;;
    --data) DATA_PATH=$2 ;;
    --tokenizer) TOKENIZER_MODEL=$2 ;;
    --tokenizer-type) TOKENIZER_TYPE=$2 ;;
    --lr) LEARNING_RATE=$2 ;;
    *) misused "$1 is not an option" ;;
    esac
    words+=("$1" "$2")
}

read_options() {
    while [ $# -gt 0 ]; do
        case " --image --data --tokenizer --tokenizer-type --lr $OWN_VALUES " in
        *" $1 "*)
            [ $# -gt 1 ] && [ -n "$2" ] || misused "$1 needs a value"
            set_value "$1" "$2"
            shift 2
            continue
            ;;
        esac
        case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --get-megatron)
            get_megatron=yes
            words+=("$1")
            ;;
        --check)
            check_only=yes
            words+=("$1")
            ;;
        --yes) asks=no ;;
        --)
            shift
            further=("$@")
            return
            ;;
        *)
            case " $OWN_FLAGS " in
            *" $1 "*)
                set_own_flag "$1"
                words+=("$1")
                ;;
            *)
                usage >&2
                misused "$1 is not an option"
                ;;
            esac
            ;;
        esac
        shift
    done
}

# --- What only the user knows ---------------------------------------------------------------------------------------

# ask OPTION VARIABLE QUESTION, from the terminal: standard input may be something else.
ask() {
    local answer=''
    IFS= read -r -p "$3 " answer </dev/tty || true
    [ -z "$answer" ] || words+=("$1" "$answer")
    printf -v "$2" %s "$answer"
}

ask_what_is_missing() {
    [ "$asks" = yes ] && [ -t 0 ] && [ -t 2 ] || return 0
    if [ "$JOB_ENVIRONMENT" = container ] && [ -z "$CONTAINER_IMAGE" ]; then
        say "The job runs in a container image with $JOB_HOLDS."
        ask --image CONTAINER_IMAGE "Image ($IMAGE_FORMS):"
    fi
    if [ -z "$DATA_PATH" ]; then
        ask --data DATA_PATH "Tokenised data (.bin and .idx under $SHARED_PATH, without that ending; empty for made-up tokens):"
    fi
    if [ -n "$DATA_PATH" ] && [ -z "$TOKENIZER_MODEL" ]; then
        ask --tokenizer TOKENIZER_MODEL "Tokenizer (folder under $SHARED_PATH, or a name of Hugging Face):"
    fi
}

# --- What needs no cluster to be seen -------------------------------------------------------------------------------

has_learning_rate() {
    local word
    [ -z "$LEARNING_RATE" ] || return 0
    for word in ${further[@]+"${further[@]}"}; do case $word in --lr | --lr=*) return 0 ;; esac done
    return 1
}

check_shared_path() {
    local option=$1 path=$2
    case $path in
    "$SHARED_PATH"/*) ;;
    /*) problem "$option $path is not on $SHARED_BY at $SHARED_PATH" ;;
    *) problem "$option $path is not an absolute path: jobs start in a folder of their own" ;;
    esac
}

check_image() {
    local name='[a-z0-9]+([._-]+[a-z0-9]+)*' host='[A-Za-z0-9.-]+(:[0-9]+)?'
    local reference="^($host/)?$name(/$name)*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?\$"
    if [ -z "$CONTAINER_IMAGE" ]; then
        problem "no container image: --image REGISTRY/NAME:TAG, with $JOB_HOLDS. Megatron-LM's own releases are tested on $MEGATRON_IMAGE, which has all but what pip adds to it (README.md)"
        return
    fi
    case $IMAGE_FILES:$CONTAINER_IMAGE in
    yes:/* | yes:./* | yes:../*)
        check_shared_path --image "$CONTAINER_IMAGE"
        return
        ;;
    no:/* | no:./* | no:../*)
        problem "--image $CONTAINER_IMAGE is a file: pods read no squash file, only REGISTRY/NAME:TAG"
        return
        ;;
    esac
    if ! [[ $CONTAINER_IMAGE =~ $reference ]]; then
        problem "--image $CONTAINER_IMAGE is not the name of an image: REGISTRY/NAME:TAG, without docker:// and #"
    elif ! [[ ${CONTAINER_IMAGE##*/} == *[:@]* ]] || [[ $CONTAINER_IMAGE == *:latest ]]; then
        problem "--image $CONTAINER_IMAGE names no version, so a restarted job could find another image: add a tag or digest"
    elif [ "${JOB_INTERNET:-yes}" = no ]; then
        check_registry
    fi
}

# Of nodes without internet: a first part with a dot or a port is a registry, and a name without one is in docker.io.
check_registry() {
    local registry=${CONTAINER_IMAGE%%/*}
    if [ "$registry" = "$CONTAINER_IMAGE" ] || ! [[ $registry == *[.:]* ]]; then registry=docker.io; fi
    if [[ $registry =~ ^${PUBLIC_REGISTRIES}$ ]]; then
        problem "--image $CONTAINER_IMAGE is in the public registry $registry, and the nodes reach no internet: copy it to a registry of your network, and name it there"
    fi
}

check_megatron_and_data() {
    if [ "$get_megatron" = yes ]; then check_shared_path "--get-megatron with $MEGATRON_SETTING" "$MEGATRON_PATH"; fi
    if [ -n "$DATA_PATH" ]; then
        check_shared_path --data "$DATA_PATH"
        [ -n "$TOKENIZER_MODEL" ] || problem "--data without --tokenizer: name the tokenizer that made it"
        has_learning_rate || problem "--data without --lr: the plan does not decide the learning rate; for example --lr 6e-5"
    fi
    case $TOKENIZER_MODEL in
    '') ;;
    /* | ./* | ../*) check_shared_path --tokenizer "$TOKENIZER_MODEL" ;;
    *)
        [ "${JOB_INTERNET:-yes}" != no ] ||
            problem "--tokenizer $TOKENIZER_MODEL is a name of Hugging Face, and the nodes reach no internet: put its files on $SHARED_BY, for example $SHARED_PATH/tokenizers/gpt2"
        ;;
    esac
    if [ -n "$LEARNING_RATE" ] && ! [[ $LEARNING_RATE =~ ^[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$ ]]; then
        problem "--lr $LEARNING_RATE is not a number"
    fi
}
