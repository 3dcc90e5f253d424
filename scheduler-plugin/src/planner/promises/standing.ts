import type { Ledger } from "../../domain/ledger.ts";
import type { ClusterModel } from "../cluster-model.ts";
import type { UsableGraphs } from "../graphs.ts";
import { assumedToBe } from "../workflow-to-be.ts";

export function standingIn(
  workflow: UsableGraphs["workflow"],
  { model, ledger }: { readonly model: Pick<ClusterModel, "isGoing" | "isStaying">; readonly ledger: Ledger },
): (workload: string) => boolean {
  const { namespace, name } = workflow;
  const assumed = new Set(
    assumedToBe(ledger.assumed(namespace, name), workflow, model).map(({ workload }) => workload),
  );
  return (workload) => {
    const of = workflow.workload(workload)?.namespace ?? namespace;
    return (
      assumed.has(workload) ||
      [...workflow.replicas(workload).keys()].some((pod) => model.isStaying(`${of}/${pod}`))
    );
  };
}
