// Lists pods held by Isochrone's scheduling gates and opens gates by hand, as the chart's uninstall hook
// does.
import {
  gatesOf,
  isStoreError,
  jsonPatchOpeningGate,
  KINDS,
  PLACEMENT_GATE,
  PLANNER_LEASE,
  STREAM_GATE,
  timestamp,
  WEBHOOK_CONFIGURATION,
  WEBHOOK_REMOVED_AT,
  WEBHOOK_SECRET,
} from "@isochrone/kubernetes";
import type { ClusterStore, GateOpening, KubernetesObject, ObjectRef, PodSpec } from "@isochrone/kubernetes";
import { systemClock } from "@isochrone/runtime/basics";
import { isKeyOf, looseFields, reasonOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { table } from "../output/table.ts";
import { giveBackMovingPods } from "./moving-pods.ts";

interface GatesListOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly output: Format;
  readonly context?: string;
}

interface GatesOpenOptions extends GatesListOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  /** Removes the webhook first, so that new pods get no gate. */
  readonly removeWebhook?: boolean;
  readonly systemNamespace: string;
}

interface Waiting {
  readonly namespace: string;
  readonly name: string;
  readonly ageSeconds: number;
  readonly others: readonly string[];
}

type Opening = GateOpening | "would_open" | `failed: ${string}`;
type Print = (text: string) => void;

const OUR_GATES: readonly string[] = [PLACEMENT_GATE, STREAM_GATE];
const OUR_GATES_TEXT = `gate ${OUR_GATES.join(" or ")}`;
const CONCURRENCY = 8;
/** A pod whose review was under way is there when the webhook's time limit has passed. */
const SETTLE_MS = 2_500;
const MAX_ROUNDS = 5;
const RETRY_MS = 250;
const CHANGED = "failed: others keep changing the pod's gates";

export async function gatesListCommand(options: GatesListOptions, print: Print): Promise<void> {
  await withStore(options, async (store) => {
    const waiting = (await gatedPods(store, options.namespace)).map(waitingOf);
    if (options.output !== "table") return print(formatted(options.output, waiting, () => ""));
    if (waiting.length === 0) return print(`no pod has the ${OUR_GATES_TEXT}`);
    const rows = waiting.map(({ namespace, name, ageSeconds, others }) => [
      namespace,
      name,
      `${ageSeconds} s`,
      others.join(", ") || "-",
    ]);
    print(table(["namespace", "pod", "age", "gates of others"], rows));
  });
}

/** Throws CommandError: exit code 2 for wrong usage, 1 if a gate stays shut. */
export async function gatesOpenCommand(
  names: readonly string[],
  options: GatesOpenOptions,
  print: Print,
): Promise<void> {
  checkUsage(names, options);
  await withStore(options, async (store) => {
    const webhook = options.removeWebhook === true ? new WebhookRemoval(store, options) : null;
    await webhook?.announce();
    const results = await openRounds(store, names, options, webhook);
    const moving = await movingPods(store, options);
    report(results, [...(webhook?.lines() ?? []), ...moving.lines], options, print);
    if (moving.failed > 0)
      throw new CommandError(`${moving.failed} moving pods could not be given back to their ReplicaSets`);
    const failed = [...results.values()].filter(({ result }) => result.startsWith("failed")).length;
    if (failed > 0) throw new CommandError(`${failed} of ${results.size} gates could not be opened`);
    const missing = names.filter(
      (name) => ![...results.values()].some(({ pod }) => pod.metadata.name === name),
    );
    if (missing.length > 0)
      throw new CommandError(
        `no pod ${missing.join(", ")} with the ${OUR_GATES_TEXT} in the namespace ${options.namespace ?? "default"}`,
      );
  });
}

function checkUsage(
  names: readonly string[],
  { all = false, removeWebhook = false }: GatesOpenOptions,
): void {
  if (all === names.length > 0)
    throw usageError("say either the pods whose gates are to be opened, or --all");
  if (removeWebhook && !all) throw usageError("--remove-webhook goes with --all: other pods would wait on");
}

interface Opened {
  readonly pod: KubernetesObject;
  readonly result: Opening;
}

/** Ends all moves when the webhook is removed, otherwise only overdue ones. */
async function movingPods(
  store: ClusterStore,
  { all = false, removeWebhook = false, dryRun = false }: GatesOpenOptions,
): ReturnType<typeof giveBackMovingPods> {
  if (!all) return { lines: [], failed: 0 };
  return await giveBackMovingPods(store, { nowMs: systemClock.now(), all: removeWebhook, dryRun });
}

async function openRounds(
  store: ClusterStore,
  names: readonly string[],
  options: GatesOpenOptions,
  webhook: WebhookRemoval | null,
): Promise<Map<string, Opened>> {
  const results = new Map<string, Opened>();
  const { dryRun = false } = options;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const wasThere = (await webhook?.remove()) ?? false;
    const pods = await chosenPods(store, names, options);
    noteOpenedByOthers(results, pods);
    await openAll(store, pods, dryRun, results);
    const isChanged = [...results.values()].some(({ result }) => result === CHANGED);
    // Without the removal, new pods may keep getting the gate forever.
    const isSettled = dryRun || webhook === null || (round > 1 && pods.length === 0 && !wasThere);
    if (isSettled && !isChanged) return results;
    await systemClock.sleep(isSettled ? RETRY_MS : SETTLE_MS);
  }
  if (webhook === null) return results;
  throw new CommandError(
    `after ${MAX_ROUNDS} rounds pods still get the gate: the webhook comes back by itself`,
  );
}

async function chosenPods(
  store: ClusterStore,
  names: readonly string[],
  { namespace }: GatesOpenOptions,
): Promise<KubernetesObject[]> {
  if (names.length === 0) return gatedPods(store, namespace);
  const gated = await gatedPods(store, namespace ?? "default");
  return gated.filter(({ metadata }) => names.includes(metadata.name));
}

/** Records pods that disappeared before their gate was opened. */
function noteOpenedByOthers(results: Map<string, Opened>, gated: readonly KubernetesObject[]): void {
  const left = new Set(gated.map(idOf));
  for (const [id, { pod, result }] of results)
    if (result.startsWith("failed") && !left.has(id)) results.set(id, { pod, result: "absent" });
}

function idOf({ metadata }: KubernetesObject): string {
  return metadata.uid ?? `${metadata.namespace}/${metadata.name}`;
}

async function openAll(
  store: ClusterStore,
  pods: readonly KubernetesObject[],
  dryRun: boolean,
  results: Map<string, Opened>,
): Promise<void> {
  const queue = [...pods];
  const work = async (): Promise<void> => {
    for (let pod = queue.shift(); pod !== undefined; pod = queue.shift()) {
      results.set(idOf(pod), { pod, result: dryRun ? "would_open" : await opening(store, pod) });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Retries conflicts in the next round: the uninstaller may not read single pods. */
async function opening(store: ClusterStore, pod: KubernetesObject): Promise<Opening> {
  const { namespace = "default", name } = pod.metadata;
  const patch = jsonPatchOpeningGate(pod, OUR_GATES);
  if (patch === null) return "absent";
  try {
    await store.jsonPatch({ ...KINDS.pod, namespace, name }, patch, { isUnexplained: true });
    return "opened";
  } catch (error) {
    if (isStoreError(error, "not_found")) return "gone";
    if (isStoreError(error, "conflict") || isStoreError(error, "invalid")) return CHANGED;
    return `failed: ${reasonOf(error)}`;
  }
}

/**
 * Removes the webhook registration and certificates. The planner's Lease is marked first: a running leader
 * would register again, and replicas learn from it before the API server has the change. A registration
 * written just then is removed in the next round.
 */
class WebhookRemoval {
  readonly #store: ClusterStore;
  readonly #lease: ObjectRef;
  readonly #objects: readonly ObjectRef[];
  readonly #dryRun: boolean;
  readonly #deleted = new Set<ObjectRef>();

  constructor(store: ClusterStore, { systemNamespace: namespace, dryRun = false }: GatesOpenOptions) {
    this.#store = store;
    this.#dryRun = dryRun;
    this.#lease = { ...KINDS.lease, namespace, name: PLANNER_LEASE };
    this.#objects = [
      { ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION },
      { ...KINDS.secret, namespace, name: WEBHOOK_SECRET },
    ];
  }

  async announce(): Promise<void> {
    if (!this.#dryRun) await markRemoved(this.#store, this.#lease);
  }

  async remove(): Promise<boolean> {
    if (this.#dryRun) return false;
    let wasThere = false;
    for (const ref of this.#objects) {
      try {
        await this.#store.delete(ref);
        this.#deleted.add(ref);
        wasThere = true;
      } catch (error) {
        if (!isStoreError(error, "not_found")) throw error;
      }
    }
    return wasThere;
  }

  lines(): string[] {
    return this.#objects.map((ref) => {
      const done = this.#deleted.has(ref) ? "deleted" : "not there";
      return `${ref.kind} ${ref.name}: ${this.#dryRun ? "would be deleted" : done}`;
    });
  }
}

async function markRemoved(store: ClusterStore, ref: ObjectRef): Promise<void> {
  const annotations = { [WEBHOOK_REMOVED_AT]: timestamp(systemClock.now()) };
  const { namespace, name, ...kind } = ref;
  try {
    await store.patch(ref, { metadata: { annotations } });
  } catch (error) {
    if (!isStoreError(error, "not_found")) throw error;
    await store.create({ ...kind, metadata: { namespace: namespace!, name, annotations }, spec: {} });
  }
}

async function gatedPods(store: ClusterStore, namespace: string | undefined): Promise<KubernetesObject[]> {
  // Keeps only waiting pods of up to 100,000.
  const trim = (pod: KubernetesObject): KubernetesObject => ({
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: pod.metadata,
    spec: { schedulingGates: looseFields<PodSpec>(pod.spec).schedulingGates },
  });
  const options = namespace === undefined ? { trim } : { trim, namespace };
  const { items } = await store.list(KINDS.pod, options);
  return items
    .filter((pod) => gatesOf(pod).some(isOurs))
    .sort((a, b) => keyText(a).localeCompare(keyText(b)));
}

function report(
  results: ReadonlyMap<string, Opened>,
  removed: readonly string[],
  { output }: GatesOpenOptions,
  print: Print,
): void {
  const rows = [...results.values()].map(({ pod, result }) => ({ ...waitingOf(pod), result }));
  if (output !== "table") return print(formatted(output, { removed, pods: rows }, () => ""));
  for (const line of removed) print(line);
  if (rows.length === 0) return print(`no pod has the ${OUR_GATES_TEXT}`);
  const words = (result: Opening): string => (isKeyOf(WORDS, result) ? WORDS[result] : result);
  print(
    table(
      ["namespace", "pod", "age", "gate"],
      rows.map(({ namespace, name, ageSeconds, result }) => [
        namespace,
        name,
        `${ageSeconds} s`,
        words(result),
      ]),
    ),
  );
}

const WORDS: Readonly<Record<GateOpening | "would_open", string>> = {
  opened: "opened",
  absent: "was open already",
  gone: "the pod is gone",
  would_open: "would be opened",
};

function waitingOf(pod: KubernetesObject): Waiting {
  const { namespace = "default", name, creationTimestamp = "" } = pod.metadata;
  const ageMs = systemClock.now() - Date.parse(creationTimestamp);
  return {
    namespace,
    name,
    ageSeconds: Number.isNaN(ageMs) ? 0 : Math.max(0, Math.round(ageMs / 1000)),
    others: gatesOf(pod).filter((gate) => !isOurs(gate)),
  };
}

function isOurs(gate: string): boolean {
  return OUR_GATES.includes(gate);
}

function keyText({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? "default"}/${metadata.name}`;
}

async function withStore(
  { kubeconfig, context }: Pick<GatesListOptions, "kubeconfig" | "context">,
  act: (store: ClusterStore) => Promise<void>,
): Promise<void> {
  const opened = openStore(kubeconfig, context);
  try {
    await act(opened.store);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the cluster can't be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    await opened.close();
  }
}
