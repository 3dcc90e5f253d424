import type { FeasiblePlanProblem } from "@isochrone/placement";
import type { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";
import type { GatedPod } from "./gated-workflows.ts";

export function wishedZones(
  pods: readonly GatedPod[],
  moved: ReadonlyMap<string, unknown>,
  wishes: Pick<ZoneWishes, "zoneFor" | "take">,
): Map<string, string> {
  return new Map(
    pods.flatMap(({ key, object }): [string, string][] => {
      const zone = moved.has(key) ? null : wishes.zoneFor(object);
      if (zone === null) return [];
      wishes.take(object, zone);
      return [[key, zone]];
    }),
  );
}

/**
 * Binds pods to their wished zones. Our skew limits don't apply to them, because demand differs by zone;
 * minimum nodes and zones do.
 */
export function wishesInto(
  problem: FeasiblePlanProblem,
  pods: readonly GatedPod[],
  zones: ReadonlyMap<string, string>,
): FeasiblePlanProblem {
  if (zones.size === 0) return problem;
  const bound = new Set<number>();
  const masks = new Map<string, Uint8Array | null>();
  const planned = problem.pods.map((pod, index) => {
    const zone = zones.get(pods[index]!.key);
    if (zone === undefined) return pod;
    const allowed = pod.allowed === null ? maskOf(problem, zone, masks) : within(problem, zone, pod.allowed);
    if (allowed === null) return pod;
    bound.add(index);
    return { ...pod, allowed };
  });
  const isHeld = ({ kind, subjects }: FeasiblePlanProblem["constraints"][number]): boolean =>
    kind !== "spread" || !subjects.some((pod) => bound.has(pod));
  const ours = new Set(problem.availability);
  return {
    ...problem,
    pods: planned,
    constraints: problem.constraints.filter((rule) => !ours.has(rule) || isHeld(rule)),
    availability: problem.availability.filter(isHeld),
  };
}

/** One mask object for all unrestricted pods, because results are cached per mask. */
function maskOf(
  problem: FeasiblePlanProblem,
  zone: string,
  masks: Map<string, Uint8Array | null>,
): Uint8Array | null {
  let mask = masks.get(zone);
  if (mask === undefined) masks.set(zone, (mask = within(problem, zone, null)));
  return mask;
}

function within({ nodes }: FeasiblePlanProblem, zone: string, open: Uint8Array | null): Uint8Array | null {
  const mask = Uint8Array.from(nodes, (node, at) => (node.zone === zone && open?.[at] !== 0 ? 1 : 0));
  return mask.includes(1) ? mask : null;
}
