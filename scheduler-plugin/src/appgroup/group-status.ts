import type { KubernetesObject } from "@isochrone/kubernetes";
import { faultText, workloadOrder } from "@isochrone/placement";
import type { OrderedWorkload, OrderFault, WorkloadOrder } from "@isochrone/placement";
import { isDeepStrictEqual } from "node:util";
import { looseFields, looseList } from "@isochrone/primitives";
import type { GroupMembers } from "./members.ts";

/**
 * Annotation of an AppGroup: the faults of its spec, for which the schema of its status has no place, one
 * line each, the reason first. Absent when there is none.
 */
export const FAULTS_ANNOTATION = "isochrone.dev/appgroup-faults";

/** Further faults aren't listed: they usually follow from the first ones. */
const MAX_LISTED = 20;

export interface GroupPlan {
  /** Fields of the status to write, null to remove one. Empty: nothing to write. */
  readonly status: Readonly<Record<string, unknown>>;
  /** Fault text to write, null to remove it. Absent: already written. */
  readonly faultsText?: string | null;
  readonly order: WorkloadOrder;
  readonly isOrderChanged: boolean;
  readonly newFaults: readonly OrderFault[];
}

/** `members` null: pods aren't known yet, and dependent fields stay. `now` is RFC 3339. */
export function planGroup(group: KubernetesObject, members: GroupMembers | null, now: string): GroupPlan {
  const order = workloadOrder(group.spec);
  const current = group.status ?? {};
  const { topologyCalculationTime, topologyOrder } = current;
  const isOrderChanged =
    typeof topologyCalculationTime !== "string" || !isSameOrder(topologyOrder, order.order);
  const faults = faultsOf(group, order.faults);
  return {
    status: {
      ...(isOrderChanged
        ? {
            topologyOrder: withStatistics(order.order, topologyOrder),
            topologyCalculationTime: now,
          }
        : {}),
      ...(members === null ? {} : memberFields(members, current)),
    },
    ...faults,
    order,
    isOrderChanged,
  };
}

function memberFields(
  { pods, running, firstCreated }: GroupMembers,
  { scheduleStartTime: started = null, runningWorkloads }: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isStarted = typeof started === "string";
  const fields: Record<string, unknown> = {};
  if (runningWorkloads !== running) fields["runningWorkloads"] = running;
  // Kept while the group has any pods: replacing pods isn't a new start.
  if (pods === 0 && started !== null) fields["scheduleStartTime"] = null;
  if (pods > 0 && !isStarted && firstCreated !== null) fields["scheduleStartTime"] = firstCreated;
  return fields;
}

/** True if the order is already written. Statistics that other components added don't count. */
function isSameOrder(written: unknown, order: readonly OrderedWorkload[]): boolean {
  if (!Array.isArray(written) || written.length !== order.length)
    return order.length === 0 && written === undefined;
  return order.every(({ workload, index }, at) => {
    const { index: writtenIndex, workload: writtenWorkload } = looseFields(written[at]);
    return writtenIndex === index && isDeepStrictEqual(writtenWorkload, workload);
  });
}

function withStatistics(order: readonly OrderedWorkload[], written: unknown): unknown[] {
  const bySelector = new Map(
    looseList(written).map(({ workload, workloadStatistics }) => {
      const { selector } = looseFields(workload);
      return [selector, workloadStatistics];
    }),
  );
  return order.map((entry) => {
    const workloadStatistics = bySelector.get(entry.workload.selector);
    return workloadStatistics === undefined ? entry : { ...entry, workloadStatistics };
  });
}

function faultsOf(
  group: KubernetesObject,
  faults: readonly OrderFault[],
): Pick<GroupPlan, "faultsText" | "newFaults"> {
  const listed = faults.slice(0, MAX_LISTED);
  const lines = listed.map((fault) => `${fault.code}: ${faultText(fault)}`);
  if (faults.length > MAX_LISTED) lines.push(`(${faults.length - MAX_LISTED} more)`);
  const told = group.metadata.annotations?.[FAULTS_ANNOTATION];
  const text = lines.length === 0 ? null : lines.join("\n");
  if (text === (told ?? null)) return { newFaults: [] };
  const known = new Set(told?.split("\n"));
  return { faultsText: text, newFaults: listed.filter((_, at) => !known.has(lines[at]!)) };
}
