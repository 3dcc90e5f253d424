import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { looseFields } from "@isochrone/primitives";
import { kindOf, type ScenarioKind } from "./kinds.ts";

const FOLDER = fileURLToPath(new URL("../../scenarios", import.meta.url));

export interface CatalogueEntry {
  readonly name: string;
  readonly title: string;
  readonly kind: ScenarioKind;
  readonly hasQuick: boolean;
}

export function listScenarios(): readonly CatalogueEntry[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file) => {
      const text = readFileSync(join(FOLDER, file), "utf8");
      const { title, quick } = looseFields<Record<"title" | "quick", unknown>>(parse(text));
      return {
        name: file.slice(0, -".yaml".length),
        title: String(title),
        kind: kindOf(text),
        hasQuick: quick !== undefined,
      };
    });
}

/** File of a project's scenario by name, or of any by path. Null: no project scenario has that name. */
export function scenarioFile(name: string): string | null {
  if (/\.ya?ml$/.test(name)) return name;
  const file = join(FOLDER, `${name}.yaml`);
  return /^[a-z0-9-]+$/.test(name) && existsSync(file) ? file : null;
}
