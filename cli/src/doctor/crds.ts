import { hasCondition, isStoreError, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { narrowings } from "../crds/narrowing.ts";
import { skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

interface DefinitionLook {
  readonly name: string;
  readonly wanted: KubernetesObject;
  readonly found: KubernetesObject | null;
}

const SHOWN = 3;

/** Null: the chart was not found. */
export function readDefinitions(folder: string): KubernetesObject[] | null {
  let files: string[];
  try {
    files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  } catch {
    return null;
  }
  return files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), "utf8"))
      .map((document) => document.toJS() as KubernetesObject | null)
      .filter((object) => object !== null),
  );
}

export async function lookAtDefinitions(
  store: ClusterStore,
  wanted: readonly KubernetesObject[],
): Promise<DefinitionLook[] | "forbidden"> {
  try {
    return await Promise.all(
      wanted.map(async (definition) => {
        const { name } = definition.metadata;
        return {
          name,
          wanted: definition,
          found: await store.get({ ...KINDS.customResourceDefinition, name }),
        };
      }),
    );
  } catch (error) {
    if (isStoreError(error, "forbidden")) return "forbidden";
    throw error;
  }
}

export function judgeDefinitions(looks: readonly DefinitionLook[] | "forbidden"): Verdict[] {
  if (looks === "forbidden")
    return [
      skipped({
        check: "definitions",
        looked: "CustomResourceDefinitions",
        rule: "there, and not narrowed",
        why: "we may not get customresourcedefinitions",
        remedy: "Use an account that may read them, by --kubeconfig or --context.",
      }),
    ];
  return looks.map(definitionVerdict);
}

function definitionVerdict({ name, wanted, found }: DefinitionLook): Verdict {
  const parts = {
    check: name.split(".")[0]!,
    looked: `CustomResourceDefinition ${name}`,
    rule: "exists, is established, and allows everything that the chart's definition allows",
    remedy:
      "Run `isochrone crds apply helm/isochrone/crds`: it creates or extends the definition and removes nothing.",
  };
  if (found === null) return verdict(false, "error", { ...parts, value: "not there" });
  if (!hasCondition(found, "Established"))
    return verdict(false, "error", { ...parts, value: "not established" });
  const lacking = narrowings(wanted, found);
  const shown = lacking.slice(0, SHOWN).join("; ");
  return verdict(lacking.length === 0, "error", {
    ...parts,
    value:
      lacking.length === 0
        ? "established, nothing lacks"
        : `lacks ${shown}${lacking.length > SHOWN ? `; and ${lacking.length - SHOWN} more` : ""}`,
  });
}
