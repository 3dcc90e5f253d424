import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { looseFields } from "@isochrone/primitives";

const FOLDER = fileURLToPath(new URL("../../scenarios", import.meta.url));

const KINDS = ["streams", "streams-example", "kais", "bill"] as const;

export interface CatalogueEntry {
  readonly name: string;
  readonly title: string;
  /** What it places: pods of workflows, jobs of streams, the one job of a worked example, or requests. */
  readonly kind: "workflows" | (typeof KINDS)[number];
  /** Whether it has a quick run, for CI. */
  readonly hasQuick: boolean;
}

/** The scenarios that come with the project, by name. */
export function listScenarios(): readonly CatalogueEntry[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file) => {
      const { title, kind, quick } = looseFields<Record<"title" | "kind" | "quick", unknown>>(
        parse(readFileSync(join(FOLDER, file), "utf8")),
      );
      return {
        name: file.slice(0, -".yaml".length),
        title: String(title),
        kind: KINDS.find((one) => one === kind) ?? ("workflows" as const),
        hasQuick: quick !== undefined,
      };
    });
}

/**
 * The file of a scenario: one of the project's by name, or any by its path. Null: there is none of that name.
 */
export function scenarioFile(name: string): string | null {
  if (/\.ya?ml$/.test(name)) return name;
  const file = join(FOLDER, `${name}.yaml`);
  return /^[a-z0-9-]+$/.test(name) && existsSync(file) ? file : null;
}
