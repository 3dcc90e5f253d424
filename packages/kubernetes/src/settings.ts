import { constant, derived, number, section, text, type Section, type SettingsOf } from "@isochrone/runtime";

const table = {
  kubeconfig: text({
    default: null,
    description:
      "Kubeconfig file of the cluster, its current context. Without it the pod's own service account is used; outside of a cluster there is none.",
  }),
  namespace: text({
    default: null,
    pattern: /[a-z0-9]([-a-z0-9]*[a-z0-9])?/,
    patternRule: "must be an RFC 1123 label",
    maxLength: 63,
    description:
      "Namespace of what Isochrone itself keeps in the cluster (Leases, Secrets, ConfigMaps), and of the probes and the webhook's Service. Without it the pod's own, else the kubeconfig's, else isochrone.",
  }),
  userAgent: constant<string | null>(null, "It is isochrone- and the service's name."),
  requestTimeoutMs: constant(30_000, "It is a bound for one request."),
  qps: number({
    default: 50,
    min: 1,
    max: 10_000,
    description: "Requests per second to the API server on average.",
  }),
  burst: derived(({ qps }: { readonly qps: number }) => Math.ceil(2 * qps), "It is twice kubernetes.qps."),
  pageSize: constant(500, "It is what Kubernetes' own clients use."),
} as const;

/** How services reach the Kubernetes API server. */
export const kubernetesSettings: Section<"kubernetes", typeof table> = section("kubernetes", table, {
  description: "The Kubernetes API server, for every service that asks one.",
});

/** Values of {@link kubernetesSettings}. */
export type KubernetesSettings = SettingsOf<typeof kubernetesSettings>;
