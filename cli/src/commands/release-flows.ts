// Makes network managers remove their kernel rules before they are uninstalled: rules outlive a manager, so
// that upgrades do not interrupt flows.
import { isStoreError, KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { looseFields, looseList, reasonOf } from "@isochrone/primitives";
import { systemClock, type Clock } from "@isochrone/runtime";
import { CommandError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { formatted, type Format } from "../output/format.ts";

interface ReleaseFlowsOptions {
  readonly kubeconfig?: string;
  /** Kubeconfig context. @default the current one */
  readonly context?: string;
  readonly output: Format;
  readonly systemNamespace: string;
  readonly daemonSet: string;
}

interface Released {
  readonly managers: number;
  readonly released: number;
}

const CONTAINER = "network-manager";
const MODE = { name: "ISOCHRONE_FLOWS_MODE", value: "observe" };
/** A manager starts within seconds; nodes that are down have none. */
const WITHIN_MS = 240_000;
const POLL_MS = 1_000;

export async function releaseFlowsCommand(
  options: ReleaseFlowsOptions,
  print: (text: string) => void,
): Promise<void> {
  const opened = openStore(options.kubeconfig, options.context);
  try {
    const daemonSet = { namespace: options.systemNamespace, name: options.daemonSet };
    print(formatted(options.output, await releaseFlows(opened.store, daemonSet, systemClock), textOf));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the cluster can't be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    await opened.close();
  }
}

function textOf({ managers, released }: Released): string {
  if (managers === 0) return "no network manager runs";
  const all = `${released} of ${managers} network managers have taken their rules back`;
  return released === managers
    ? all
    : `${all}; on the other nodes, run \`--cleanup\` when they are up (docs/network-manager.md)`;
}

/** Restarts all managers in the observing mode, in which they remove existing rules. */
export async function releaseFlows(
  store: ClusterStore,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  clock: Clock,
): Promise<Released> {
  const ref = { ...KINDS.daemonSet, namespace, name };
  const untilMs = clock.monotonic() + WITHIN_MS;
  let state = stateOf(await store.get(ref));
  if (state === null) return { managers: 0, released: 0 };
  if (!state.observes) await setMode(store, ref, state);
  for (;;) {
    state = stateOf(await store.get(ref));
    if (state === null) return { managers: 0, released: 0 };
    const { managers, released } = state;
    if (released === managers || clock.monotonic() > untilMs) return { managers, released };
    await clock.sleep(POLL_MS);
  }
}

interface ManagerState extends Released {
  readonly observes: boolean;
  readonly container: number;
  /** Null: the container has none. */
  readonly variable: number | null;
}

type Fields<K extends string> = Record<K, unknown>;
type StatusFields = Fields<
  "desiredNumberScheduled" | "numberReady" | "observedGeneration" | "updatedNumberScheduled"
>;

/** Null if it does not exist. Throws CommandError for a DaemonSet that is not the chart's. */
function stateOf(object: Awaited<ReturnType<ClusterStore["get"]>>): ManagerState | null {
  if (object === null) return null;
  const { template } = looseFields<Fields<"template">>(object.spec);
  const { spec } = looseFields<Fields<"spec">>(template);
  const containers = looseList<Fields<"env" | "name">>(looseFields<Fields<"containers">>(spec).containers);
  const container = containers.findIndex(({ name }) => name === CONTAINER);
  const found = containers[container];
  if (found === undefined)
    throw new CommandError(
      `DaemonSet ${object.metadata.name} must have a container ${CONTAINER}, it has none`,
    );
  const env = looseList<Fields<"name" | "value">>(found.env);
  const variable = env.findIndex((each) => each.name === MODE.name);
  const status = looseFields<StatusFields>(object.status);
  const number = (value: unknown): number => (typeof value === "number" ? value : 0);
  const isSeen = number(status.observedGeneration) >= (object.metadata.generation ?? 0);
  const ready = Math.min(number(status.updatedNumberScheduled), number(status.numberReady));
  return {
    managers: number(status.desiredNumberScheduled),
    released: isSeen ? ready : -1,
    observes: env[variable]?.value === MODE.value,
    container,
    variable: variable === -1 ? null : variable,
  };
}

async function setMode(
  store: ClusterStore,
  ref: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  },
  { container, variable }: ManagerState,
): Promise<void> {
  const path = `/spec/template/spec/containers/${container}`;
  const at = variable === null ? "-" : String(variable);
  try {
    await store.jsonPatch(ref, [
      { op: "test", path: `${path}/name`, value: CONTAINER },
      { op: variable === null ? "add" : "replace", path: `${path}/env/${at}`, value: MODE },
      // Allows all managers to restart at once: nothing is lost.
      {
        op: "replace",
        path: "/spec/updateStrategy",
        value: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%" } },
      },
    ]);
  } catch (error) {
    if (!isStoreError(error, "not_found")) throw error;
  }
}
