// Competes for leadership and acts while it leads. Environment: KUBECONFIG, NAME, NAMESPACE.
import { AGGREGATOR_LEASE, leaderStore } from "@isochrone/aggregator/testing";
import { candidacy, KINDS, StoreError, type ClusterStore, type ObjectRef } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createLogger, systemClock, systemRandom } from "@isochrone/runtime";

const { KUBECONFIG: kubeconfig = "", NAME: name = "", NAMESPACE: namespace = "" } = process.env;
const PAUSE_MS = 2;

const surroundings = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: name, level: "info", format: "json" }),
};
const credentials = { kubeconfig };
// Separate clients have separate request rates, and the audit log tells them apart.
const leases = createApiServerStore({ ...surroundings, credentials, userAgent: `${name}-lease` });
// Slow enough that most acts queue, so that acts begun by the leader would be sent later.
const acts = createApiServerStore({ ...surroundings, credentials, userAgent: name, qps: 40, burst: 1 });
const leadership = candidacy(
  {
    ...surroundings,
    store: leases,
    namespace,
    replica: name,
    timing: { leaseDurationMs: 2_000, renewDeadlineMs: 1_200, retryPeriodMs: 250 },
  },
  AGGREGATOR_LEASE,
);
const store = leaderStore(acts, leadership);

/** The three kinds of acts by singletons. Only the fence guards the last one. */
const ACTS: Readonly<Record<string, (at: ClusterStore, ref: ObjectRef) => Promise<unknown>>> = {
  "by-version": async (at, ref) => {
    const stored = (await at.get(ref))!;
    const { metadata } = stored;
    return await at.update({ ...stored, metadata: { ...metadata, annotations: annotations() } });
  },
  "by-test": async (at, ref) => {
    const { metadata } = (await at.get(ref))!;
    return await at.jsonPatch(ref, [
      { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
      { op: "add", path: "/metadata/annotations", value: annotations() },
    ]);
  },
  "by-fence": (at, ref) => at.patch(ref, { metadata: { annotations: annotations() } }),
};

const annotations = (): Record<string, string> => ({ by: name, at: String(performance.now()) });

async function act(kind: string): Promise<never> {
  const ref = { ...KINDS.configMap, namespace, name: kind };
  for (;;) {
    if (!leadership.isLeader()) {
      await systemClock.sleep(PAUSE_MS);
      continue;
    }
    try {
      await ACTS[kind]!(store, ref);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code === "fenced") process.stdout.write(`fenced ${kind}\n`);
    }
  }
}

leadership.start();
process.stdout.write("started\n");
await Promise.all(Object.keys(ACTS).map(act));
