"""Values of what is installed in Kubernetes: fixed charts that are waited for, a file system with locks."""

from wanted import Wanted

RELEASE = "kubernetes:helm.sh/v3:Release"
CHART = "kubernetes:helm.sh/v4:Chart"
# A whole version, also one before a release; ranges, `latest` and 1.2 move.
_WHOLE_VERSION = r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"

KUBERNETES: tuple[Wanted, ...] = (
    *(
        Wanted(
            name="fixed-charts",
            description="Charts have a whole version.",
            type=kind,
            path="version",
            pattern=_WHOLE_VERSION,
            message="the chart's version is {value}: name a whole one, or it changes by itself",
        )
        for kind in (RELEASE, CHART)
    ),
    Wanted(
        name="fixed-charts",
        description="Charts have a whole version.",
        type=RELEASE,
        path="devel",
        pattern="false",
        absent=True,
        message="devel takes versions before a release",
    ),
    Wanted(
        name="charts-are-waited-for",
        description="`up` ends when charts run.",
        type=RELEASE,
        path="skipAwait",
        pattern="false",
        absent=True,
        message="skipAwait is {value}: `up` ends before the chart runs, or without it",
    ),
    Wanted(
        name="charts-are-waited-for",
        description="`up` ends when charts run.",
        type=RELEASE,
        path="atomic",
        pattern="true",
        message="atomic is {value}: what failed halfway stays",
    ),
    Wanted(
        name="charts-are-waited-for",
        description="`up` ends when charts run.",
        type=RELEASE,
        path="timeout",
        pattern="[1-9][0-9]*",
        absent=True,
        message="timeout is {value}: nothing is waited for",
    ),
    *(
        Wanted(
            name="charts-over-tls",
            description="Charts come over an encrypted connection.",
            type=RELEASE,
            path=path,
            pattern=pattern,
            absent=True,
            message=message,
        )
        for path, pattern, message in (
            ("repositoryOpts.repo", "(https|oci)://.*", "the chart comes from {value}, which is not encrypted"),
            ("chart", "(?!http://).*", "the chart comes from {value}, which is not encrypted"),
        )
    ),
    Wanted(
        name="charts-bring-their-kinds",
        description="Charts install the kinds of their own.",
        type=RELEASE,
        path="skipCrds",
        pattern="false",
        absent=True,
        message="skipCrds is {value}: the chart's own kinds are missing",
    ),
    Wanted(
        name="shared-volume-locks",
        description="The shared file system is mounted with locks.",
        type="kubernetes:core/v1:PersistentVolume",
        path="spec.mountOptions",
        pattern="flock",
        some=True,
        when=(("spec.csi.driver", r"(fsx|azurelustre|lustre)\.csi\..*"),),
        message="mountOptions is {value}: without flock data loaders that lock files fail",
    ),
    Wanted(
        name="shared-volume-stays",
        description="Deleting a claim keeps the file system.",
        type="kubernetes:core/v1:PersistentVolume",
        path="spec.persistentVolumeReclaimPolicy",
        pattern="Retain",
        message="persistentVolumeReclaimPolicy is {value}: the data goes with the claim",
    ),
)
