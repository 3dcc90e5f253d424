// As Toleration.ToleratesTaint of k8s.io/api/core/v1, without comparison operators (alpha in 1.35).
import type { NodeSpec, Toleration } from "./fields.ts";
import { records, text } from "./json.ts";

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export const UNSCHEDULABLE: Taint = {
  key: "node.kubernetes.io/unschedulable",
  value: "",
  effect: "NoSchedule",
};

export function taintsOf(nodeSpec: NodeSpec): Taint[] {
  return records(nodeSpec.taints).map(({ key, value, effect }) => ({
    key: text(key),
    value: text(value),
    effect: text(effect),
  }));
}

export function untoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): Taint | undefined {
  return taints.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") && !tolerates(tolerations, taint),
  );
}

export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => {
    const [key, effect] = [text(toleration.key), text(toleration.effect)];
    if ((effect !== "" && effect !== taint.effect) || (key !== "" && key !== taint.key)) return false;
    const operator = text(toleration.operator);
    if (operator === "Exists") return true;
    return (operator === "" || operator === "Equal") && text(toleration.value) === taint.value;
  });
}
