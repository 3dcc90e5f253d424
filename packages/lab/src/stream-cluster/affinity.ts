import { looseFields, looseList } from "@isochrone/primitives";
import type { KubernetesObject } from "@isochrone/kubernetes";

type Fields<K extends string> = Record<K, unknown>;

export function boundNode({ spec }: KubernetesObject): string | null {
  const { affinity } = looseFields<Fields<"affinity">>(spec);
  const { nodeAffinity } = looseFields<Fields<"nodeAffinity">>(affinity);
  const rule = "requiredDuringSchedulingIgnoredDuringExecution";
  const required = looseFields<Fields<typeof rule>>(nodeAffinity)[rule];
  const { nodeSelectorTerms } = looseFields<Fields<"nodeSelectorTerms">>(required);
  for (const term of looseList<Fields<"matchFields">>(nodeSelectorTerms))
    for (const { key, values } of looseList<Fields<"key" | "values">>(term.matchFields)) {
      const [name] = Array.isArray(values) ? values : [];
      if (key === "metadata.name" && typeof name === "string") return name;
    }
  return null;
}
