// An aggregator for tests of rights that serves by certificates of its own.
import { MANIFEST_VALUES, type ComponentProcess, type Installation } from "../harness/components/index.ts";

const { NAMESPACE, CERTIFICATES_SECRET, TRUST_CONFIG_MAP } = MANIFEST_VALUES;

/** It replaces them, and their authority, every few seconds, and does nothing else that needs a right of its own. */
export function certifiedAggregator(installation: Installation): Promise<ComponentProcess> {
  return installation.component("aggregator", "certified-aggregator", {
    aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 500 },
    access: { mode: "kubernetes" },
    certificates: {
      secret: `${NAMESPACE}/${CERTIFICATES_SECRET}`,
      configMap: TRUST_CONFIG_MAP,
      checkMs: 200,
      certificateLifetimeMs: 4000,
      authorityLifetimeMs: 12_000,
      trustDelayMs: 500,
    },
    annotations: { nodes: false },
    networkTopology: { writer: "upstream" },
    appGroups: { observe: false },
  });
}
