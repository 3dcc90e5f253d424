import type { Workload } from "@isochrone/topology";
import { keyOf, type Billed, type BilledWorkflow, type End } from "./billed.ts";

export const CHANNELS_PER_STEP = 500;

/**
 * A channel between workflows is in both. Uses the source namespace's record, or the other one if that has no
 * bytes.
 */
export function* channelSteps(workflows: Iterable<BilledWorkflow>): Generator<void, Billed[]> {
  const found = new Map<string, Billed>();
  let untilStep = CHANNELS_PER_STEP;
  for (const workflow of workflows) {
    const { namespace, channels } = workflow;
    const ends = workloadEnds(workflow);
    for (const channel of channels) {
      if (--untilStep <= 0) {
        untilStep = CHANNELS_PER_STEP;
        yield;
      }
      const source = ends(channel.source);
      const target = ends(channel.target);
      if (source === null || target === null) continue;
      const key = `${keyOf(source)}\n${keyOf(target)}`;
      const billed = { source, target, channel, isOwn: source.namespace === namespace };
      const before = found.get(key);
      if (before === undefined || isBetter(billed, before)) found.set(key, billed);
    }
  }
  return [...found.values()];
}

function isBetter({ channel, isOwn }: Billed, before: Billed): boolean {
  const [has, had] = [channel.bytesPerSecond !== null, before.channel.bytesPerSecond !== null];
  return has === had ? isOwn && !before.isOwn : has;
}

/** Workloads of a workflow by label; null: unknown. */
export function workloadEnds({
  namespace,
  workloads,
}: Pick<BilledWorkflow, "namespace" | "workloads">): (label: string) => End | null {
  const byLabel = labelled(namespace, workloads);
  return (label) => endOf(byLabel.get(label));
}

/** The workflow's own namespace wins over an equal name elsewhere: channels only carry names. */
function labelled(namespace: string, workloads: readonly Workload[]): ReadonlyMap<string, Workload> {
  const byLabel = new Map<string, Workload>();
  for (const workload of workloads)
    if (!byLabel.has(workload.name) || workload.namespace === namespace) byLabel.set(workload.name, workload);
  return byLabel;
}

/** A workload of another namespace may be named namespace/name. */
function endOf(workload: Workload | undefined): End | null {
  if (workload === undefined) return null;
  const { namespace, name, pods } = workload;
  const prefix = `${namespace}/`;
  return { namespace, name: name.startsWith(prefix) ? name.slice(prefix.length) : name, pods };
}
