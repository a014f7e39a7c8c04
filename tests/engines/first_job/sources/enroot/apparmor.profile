/usr/bin/enroot-nsenter flags=(unconfined) {
}
