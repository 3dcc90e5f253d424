// Services with their own certificates, for the permission tests.
import { MANIFEST_VALUES, type ComponentProcess, type Installation } from "../harness/components/index.ts";

const { NAMESPACE, CERTIFICATES_SECRET } = MANIFEST_VALUES;

/** They replace certificates and CAs every few seconds and otherwise use no permission of their own. */
export async function certifiedServices(
  installation: Installation,
  graphUrl: string,
): Promise<ComponentProcess[]> {
  return [await certifiedAggregator(installation), await certifiedSchedulerPlugin(installation, graphUrl)];
}

async function certifiedSchedulerPlugin(
  installation: Installation,
  graphUrl: string,
): Promise<ComponentProcess> {
  const graphTokenFile = await installation.tokenFile("scheduler-plugin");
  return installation.component("scheduler-plugin", "certified-scheduler-plugin", {
    scheduler: { graphUrl, graphTokenFile, podEvents: false, appGroupStatus: "upstream" },
    extenderCertificates: {
      secret: `${NAMESPACE}/isochrone-scheduler-plugin-certificates`,
      checkMs: 200,
      certificateLifetimeMs: 4000,
      kubeSchedulerLifetimeMs: 4000,
      authorityLifetimeMs: 12_000,
      trustDelayMs: 500,
      clockSkewMs: 0,
    },
  });
}

function certifiedAggregator(installation: Installation): Promise<ComponentProcess> {
  return installation.component("aggregator", "certified-aggregator", {
    aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 500 },
    access: { mode: "kubernetes" },
    certificates: {
      secret: `${NAMESPACE}/${CERTIFICATES_SECRET}`,
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
