import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { conduct } from "../../conduct.ts";
import { DEPS } from "../../contenders/testing/points.ts";
import { scenarioFile } from "../../scenario/catalogue.ts";
import type { Conducted, ConductOptions } from "../experiment.ts";

export function outFolder(): string {
  const out = mkdtempSync(join(tmpdir(), "isochrone-experiment-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  return out;
}

export function textOf(name: string): string {
  return readFileSync(scenarioFile(name)!, "utf8");
}

/** A quick run in the model with default settings. @param text @default the scenario's file */
export function conductText(
  name: string,
  over: Partial<ConductOptions> & Pick<ConductOptions, "out">,
  text = textOf(name),
): Promise<Conducted> {
  const file = join(over.out, `${name}.yaml`);
  writeFileSync(file, text);
  return conduct(
    {
      file,
      quick: true,
      only: {},
      jobs: 1,
      grounds: ["model"],
      command: `isochrone experiment ${name} --quick`,
      onProgress: () => {},
      signal: new AbortController().signal,
      ...over,
    },
    { ...DEPS, kubeScheduler: null },
  );
}
