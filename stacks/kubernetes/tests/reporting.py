"""What holds of the pods that report busy GPUs on every cloud."""

import re
from typing import Any

from layer_run import LayerRun

PODS = "kubernetes:apps/v1:DaemonSet"
SERVICE = "kubernetes:core/v1:Service"
SCRIPTS = "kubernetes:core/v1:ConfigMap"
ACCOUNT = "kubernetes:core/v1:ServiceAccount"


def check_reports(run: LayerRun, *, cloud: str, exporter: str) -> dict[str, Any]:
    """Check pods, scripts and the way to the exporter; return the pod's environment."""
    pod = run.one(PODS).inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    # On every GPU node and on no other, with one release of its image.
    assert pod["nodeSelector"] == {"node-kind": "gpu"}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert re.search(r":[0-9]+\.[0-9]+\.[0-9]+", container["image"])
    # Nothing of the host, no GPU, no token of the API server.
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert [sorted(volume) for volume in pod["volumes"]] == [["configMap", "name"], ["emptyDir", "name"]]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert "/" not in "".join(container["resources"]["limits"])
    # The scripts call each other by these names.
    scripts = run.one(SCRIPTS).inputs["data"]
    assert set(scripts) == {"busy_gpus.sh", "environment.sh", "http.sh", f"metric_{cloud}.sh"}
    assert container["command"] == ["bash", "/opt/gpu-cluster/busy_gpus.sh"]
    service = run.one(SERVICE).inputs
    assert service["spec"]["internalTrafficPolicy"] == "Local"
    assert service["spec"]["selector"] == {"app.kubernetes.io/name": exporter}
    told = {one["name"]: one.get("value") for one in container["env"]}
    assert told["CLUSTER_GPU_FIGURES_URL"] == (
        f"http://{service['metadata']['name']}.{service['metadata']['namespace']}.svc:9400/metrics"
    )
    assert (told["CLUSTER_CLOUD"], told["CLUSTER_NAME"], told["CLUSTER_GPUS_PER_NODE"]) == (cloud, "gpt3", "8")
    return told
