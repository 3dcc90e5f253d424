import { seededRandom } from "@isochrone/runtime";
import type { Field } from "./field.ts";
import type { Change, PointCluster, PointLoad, PointWorkflow } from "./model.ts";

/** Sorted by time. Each has `at` and one of `nodeDown`, `regionLatency`, `call`; or is a `drift`. */
export function readChanges(
  field: Field,
  cluster: PointCluster,
  workflow: PointWorkflow,
  load: PointLoad,
): readonly Change[] {
  return field
    .list()
    .flatMap((item) =>
      item.get("drift").isPresent ? drift(item, workflow, load) : readChange(item, cluster, workflow, load),
    )
    .sort((a, b) => a.atSeconds - b.atSeconds);
}

function readChange(
  item: Field,
  cluster: PointCluster,
  workflow: PointWorkflow,
  load: PointLoad,
): readonly Change[] {
  item.map("at", "nodeDown", "regionLatency", "call", "factor", "probability");
  const atSeconds = item.get("at").seconds();
  if (atSeconds >= load.durationSeconds)
    item
      .get("at")
      .fail(`must be before the end of the measurement, ${load.durationSeconds} s, got ${atSeconds} s`);
  if (item.get("nodeDown").isPresent) {
    const node = item.get("nodeDown").text();
    if (!cluster.nodes.some(({ name }) => name === node))
      item.get("nodeDown").fail(`must be a node, got ${node}`);
    const pinned = workflow.workloads.find(({ pinnedTo }) => pinnedTo === node);
    if (pinned !== undefined)
      item.get("nodeDown").fail(`must not be ${node}: ${pinned.name} is pinned to it and could run nowhere`);
    return [{ kind: "node-down", atSeconds, node }];
  }
  if (item.get("regionLatency").isPresent) {
    const region = item.get("regionLatency").text();
    if (!cluster.nodes.some((node) => node.region === region))
      item.get("regionLatency").fail(`must be a region, got ${region}`);
    return [
      {
        kind: "region-latency",
        atSeconds,
        region,
        factor: item.get("factor").number({ above: 0, max: 1000 }),
      },
    ];
  }
  return readCallChange(item, atSeconds, workflow);
}

function readCallChange(item: Field, atSeconds: number, workflow: PointWorkflow): readonly Change[] {
  const call = item.get("call");
  if (!call.isPresent) {
    item.fail("must have one of nodeDown, regionLatency, call");
    return [];
  }
  call.map("caller", "callee");
  const [caller, callee] = [call.get("caller").text(), call.get("callee").text()];
  const isCall = workflow.workloads.some(
    (workload) => workload.name === caller && workload.calls.some((each) => each.callee === callee),
  );
  if (!isCall) call.fail(`must be a call of the workflow, got ${caller} to ${callee}`);
  const probability = item.get("probability").number({ min: 0, max: 1 });
  return [{ kind: "call-probability", atSeconds, caller, callee, probability }];
}

/** Drifting traffic: every `every`, `calls` conditional calls get new probabilities. */
function drift(item: Field, workflow: PointWorkflow, load: PointLoad): readonly Change[] {
  item.map("drift");
  const field = item.get("drift").map("every", "calls", "seed");
  const every = field.get("every").seconds({ min: 1 });
  const calls = field.get("calls").number({ min: 1, max: 100, whole: true });
  const random = seededRandom(field.get("seed").number({ min: 0, whole: true }));
  const conditional = workflow.workloads.flatMap(({ name, calls: made }) =>
    made.filter(({ probability }) => probability < 1).map(({ callee }) => ({ caller: name, callee })),
  );
  if (conditional.length === 0) {
    field.fail("must have calls with a probability below 1 to change, got none");
    return [];
  }
  const changes: Change[] = [];
  for (let atSeconds = every; atSeconds < load.durationSeconds; atSeconds += every)
    for (let count = 0; count < calls; count += 1) {
      const call = conditional[Math.floor(random.next() * conditional.length)]!;
      const probability = Math.round((0.05 + 0.9 * random.next()) * 1000) / 1000;
      changes.push({ kind: "call-probability", atSeconds, ...call, probability });
    }
  return changes;
}
