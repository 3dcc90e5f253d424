import { exactAmounts } from "./amounts.ts";
import type { Container, PodSpec } from "./fields.ts";
import { record, records } from "./json.ts";

const NANO_PER_MILLICORE = 1e6;

/** Sum of its containers' CPU limits, millicores. Null: a container has none. */
export function podCpuLimit({ containers, initContainers }: PodSpec): number | null {
  const sidecars = records(initContainers).filter(({ restartPolicy }) => restartPolicy === "Always");
  const running: readonly Container[] = [...records(containers), ...sidecars];
  let sum = 0;
  for (const { resources } of running) {
    const limit = exactAmounts(record(resources).limits).get("cpu");
    if (limit === undefined) return null;
    sum += Number(limit) / NANO_PER_MILLICORE;
  }
  return sum > 0 ? sum : null;
}
