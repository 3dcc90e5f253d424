import { YAML_LIMITS, yamlSizeProblem } from "@isochrone/runtime";
import { LineCounter, parseDocument } from "yaml";
import { ScenarioError } from "./errors.ts";
import type { Sheet } from "./field.ts";

/** Throws ScenarioError for invalid or oversized YAML. */
export function openSheet(text: string, file: string): Sheet {
  const tooLarge = yamlSizeProblem(text, YAML_LIMITS);
  if (tooLarge !== null)
    throw new ScenarioError(file, [{ line: tooLarge.line ?? 1, message: tooLarge.message }]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0)
    throw new ScenarioError(
      file,
      document.errors.map((error) => ({
        line: lines.linePos(error.pos[0]).line,
        message: error.message.split("\n")[0]!,
      })),
    );
  return { document, lines, issues: [] };
}

/** Throws ScenarioError with all mistakes, sorted by line. */
export function closeSheet({ issues }: Sheet, file: string): void {
  if (issues.length > 0)
    throw new ScenarioError(
      file,
      issues.toSorted((a, b) => a.line - b.line),
    );
}
