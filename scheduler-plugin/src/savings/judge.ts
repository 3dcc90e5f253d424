import { serviceZoneAdvice } from "@isochrone/placement";
import type { Judgement, SavingsInput } from "@isochrone/prices";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";

interface JudgeInput {
  readonly cluster: ClusterGraph;
  readonly workflows: readonly WorkflowGraph[];
  readonly podOf: (namespace: string, name: string) => KubernetesObject | null;
  readonly maxCpuUse: number;
  readonly bytesPerRequest: number;
}

export function judgeOf(input: JudgeInput): SavingsInput["judge"] {
  const { cluster, maxCpuUse, bytesPerRequest } = input;
  const home = new Map<string, WorkflowGraph>();
  for (const workflow of input.workflows)
    for (const { namespace, name } of workflow.workloads)
      if (namespace === workflow.namespace) home.set(`${namespace}/${name}`, workflow);
  return ({ namespace, name }, asked, { moves }): Judgement => {
    const workflow = home.get(`${namespace}/${name}`);
    if (workflow === undefined) return UNKNOWN;
    const pods = (workflow.workload(name)?.pods ?? []).flatMap((pod) => {
      const object = input.podOf(namespace, pod.name);
      return object === null ? [] : [onNode(object, moves.get(`${namespace}/${pod.name}`))];
    });
    const service = { cluster, workflow, workload: name, pods, asked };
    const { verdict, reasons, zones } = serviceZoneAdvice({ ...service, maxCpuUse, bytesPerRequest });
    const served = zones.filter(({ endpoints }) => endpoints > 0);
    return {
      verdict,
      reasons,
      loadNow: highest(served.map(({ loadNow }) => loadNow)),
      loadThen: highest(served.map(({ loadThen }) => loadThen)),
    };
  };
}

const UNKNOWN: Judgement = {
  verdict: "unknown",
  reasons: ["its workload is in no workflow graph"],
  loadNow: null,
  loadThen: null,
};

function onNode(pod: KubernetesObject, nodeName: string | undefined): KubernetesObject {
  return nodeName === undefined ? pod : { ...pod, spec: { ...pod.spec, nodeName } };
}

function highest(loads: readonly (number | null)[]): number | null {
  const known = loads.filter((load) => load !== null);
  return known.length === 0 || known.length < loads.length ? null : Math.max(...known);
}
