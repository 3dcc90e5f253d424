import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ControlPlane } from "../control-plane/index.ts";

const LISTED = [
  "/api/v1/namespaces",
  "/api/v1/configmaps",
  "/api/v1/secrets",
  "/api/v1/services",
  "/api/v1/serviceaccounts",
  "/api/v1/pods",
  "/apis/apps/v1/daemonsets",
  "/apis/apps/v1/statefulsets",
  "/apis/apps/v1/deployments",
  "/apis/batch/v1/jobs",
  "/apis/policy/v1/poddisruptionbudgets",
  "/apis/networking.k8s.io/v1/networkpolicies",
  "/apis/coordination.k8s.io/v1/leases",
  "/apis/rbac.authorization.k8s.io/v1/roles",
  "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
];

export async function inventory(cluster: ControlPlane, namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of LISTED) {
    const { kind, items } = await cluster.request<{ kind: string; items: KubernetesObject[] }>("GET", path);
    // Tokens belong to the harness.
    for (const { metadata } of items.filter((item) => !item.metadata.name.startsWith("token-of-")))
      if (
        metadata.namespace === namespace ||
        metadata.name.includes("isochrone") ||
        metadata.name.includes("diktyo")
      )
        found.push(`${kind.replace(/List$/, "")} ${metadata.name}`);
  }
  return found.sort();
}
