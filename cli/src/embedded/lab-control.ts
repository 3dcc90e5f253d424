import { KINDS, StoreError, type ClusterStore } from "@isochrone/kubernetes";
import {
  createLabControl,
  loseNode,
  storeControlToken,
  type EmulatedNetwork,
  type LabCluster,
  type StoreAnswer,
  type StoreCall,
} from "@isochrone/lab";
import { createRegistry, systemClock, type Logger, type Service } from "@isochrone/runtime";
import { deferred, type Deferred } from "./deferred.ts";
import type { EmbeddedUrls } from "./options.ts";
import type { PodMoves } from "./pod-moves.ts";
import type { Surroundings } from "./services.ts";

const RECEIVERS_REPORT_MS = 30_000;

interface Killed {
  readonly network: EmulatedNetwork;
  readonly cluster: LabCluster;
  readonly moves: PodMoves;
}

interface Controlled extends Omit<Killed, "cluster"> {
  readonly cluster: Deferred<LabCluster>;
}

export function labControl(
  { options, store, isReal, emulator, logger, pages }: Surroundings,
  { network, cluster, moves }: Controlled,
  { page, lab }: Pick<EmbeddedUrls, "page" | "lab">,
): Service {
  const ending = new AbortController();
  const report = {
    receiverCounts: async () => ({ channels: await cluster.value().receiverCounts() }),
    endToEnd: () => cluster.value().endToEnd({ lastMs: RECEIVERS_REPORT_MS }),
    processes: () => ({ relayPid: network.relayPid, pids: [...cluster.value().processes().values()] }),
    ...(isReal
      ? {}
      : {
          objects: () => objectsOf(store),
          store: (call: StoreCall) => storeAnswer(store, call),
          killNode: (node: string) =>
            killNode(
              node,
              { network, cluster: cluster.value(), moves },
              { store, logger, signal: ending.signal },
            ),
        }),
  };
  const { allowedHosts, env } = options;
  return deferred(
    async () => {
      const { token, timeline } = emulator;
      const control = await createLabControl({
        network,
        cluster: report,
        pages,
        token,
        ...(timeline === undefined ? {} : { timeline }),
        allowedHosts: { hosts: allowedHosts, setting: "--allow-host" },
        logger,
        registry: createRegistry(),
      });
      const { port: bound } = await control.start(Number(new URL(lab).port));
      try {
        return { control, stored: await storeControlToken(bound, token, env, page) };
      } catch (error) {
        await control.stop();
        throw error;
      }
    },
    async ({ control, stored }) => {
      ending.abort();
      await stored.remove();
      await control.stop();
    },
  );
}

/** Isolates the node and ends its processes; the control plane notices later. */
async function killNode(
  node: string,
  { network, cluster, moves }: Killed,
  {
    store,
    logger,
    signal,
  }: { readonly store: ClusterStore; readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const before = cluster.pods();
  for (const other of network.matrix().nodes)
    if (other !== node) await network.setLink(node, other, { cut: true });
  await cluster.killNode(node);
  loseNode({ store, node, clock: systemClock, signal })
    .then((pods) => moves.lost(pods, before, { cluster, clock: systemClock, signal }))
    .catch((error: unknown) => {
      if (!signal.aborted) logger.error("the loss of a node could not be carried out", { node, error });
    });
}

const DUMPED = [
  KINDS.node,
  KINDS.namespace,
  KINDS.deployment,
  KINDS.replicaSet,
  KINDS.pod,
  KINDS.service,
  KINDS.podDisruptionBudget,
  KINDS.appGroup,
] as const;

/** As printed by `kubectl get -A -o json`. */
async function objectsOf(store: ClusterStore): Promise<object> {
  const lists = await Promise.all(
    DUMPED.map(async (kind) => (await store.list(kind)).items.map((object) => ({ ...kind, ...object }))),
  );
  return { apiVersion: "v1", kind: "List", items: lists.flat() };
}

const CALLED = ["get", "list", "patch", "jsonPatch", "evict"] as const;

async function storeAnswer(store: ClusterStore, { method, args }: StoreCall): Promise<StoreAnswer> {
  const called = CALLED.find((each) => each === method);
  if (called === undefined)
    return {
      error: { code: "invalid", message: `method must be one of ${CALLED.join(", ")}, got ${method}` },
    };
  try {
    const call = store[called].bind(store) as (...all: readonly unknown[]) => Promise<unknown>;
    return { value: (await call(...args)) ?? null };
  } catch (error) {
    if (error instanceof StoreError) return { error: { code: error.code, message: error.message } };
    throw error;
  }
}
