// The configurations that the documentation gives to users are the ones that the tests run.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const PAGE = join(import.meta.dirname, "../../../docs/otel-collector.md");

/** A block of YAML of docs/otel-collector.md, by the name in its first line. */
export function recipe(name: string): string {
  const blocks = readFileSync(PAGE, "utf8").matchAll(/^```yaml\n# (\S+)\n([^]*?)^```$/gm);
  for (const [, title, text] of blocks) if (title === name) return text!;
  throw new Error(`docs/otel-collector.md has no recipe "${name}"`);
}
