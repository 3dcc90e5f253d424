import { duration, integer, number, section, text, type Section, type SettingsOf } from "@isochrone/runtime";

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
      "Namespace of what Isochrone itself keeps in the cluster (Leases, Secrets, ConfigMaps). Without it the pod's own, else the kubeconfig's, else isochrone.",
  }),
  userAgent: text({
    default: null,
    pattern: /[\x21-\x7e]+( [\x21-\x7e]+)*/,
    patternRule: "must be printable ASCII",
    maxLength: 200,
    description: "Name in the API server's audit log. Without it isochrone-<service>.",
  }),
  requestTimeoutMs: duration({
    default: "30s",
    min: 1_000,
    max: 600_000,
    description: "Time for one try of one request, its answer included; of a watch only for its beginning.",
  }),
  qps: number({
    default: 50,
    min: 1,
    max: 10_000,
    description: "Requests per second to the API server on average.",
  }),
  burst: integer({
    default: 100,
    min: 1,
    max: 100_000,
    description: "Requests at once after a quiet time.",
  }),
  pageSize: integer({
    default: 500,
    min: 10,
    max: 10_000,
    description:
      "Objects per page of a list: one page of them is in memory whole, 500 pods of 8 KB are 4 MB.",
  }),
} as const;

/** How services reach the Kubernetes API server. */
export const kubernetesSettings: Section<"kubernetes", typeof table> = section("kubernetes", table, {
  description: "The Kubernetes API server, for every service that asks one.",
  rules: [
    ({ qps, burst }) =>
      burst >= qps ? null : `kubernetes.burst must be at least kubernetes.qps, got ${burst} and ${qps}`,
  ],
});

/** Values of {@link kubernetesSettings}. */
export type KubernetesSettings = SettingsOf<typeof kubernetesSettings>;
