import { readFileSync } from "node:fs";
import { join } from "node:path";
import { namespaceLabSupport } from "@isochrone/lab/namespaces";
import { expect, it } from "vitest";
import { conductText, outFolder, textOf } from "../frame/testing/conduct-text.ts";

const support = await namespaceLabSupport();

/** A busy machine slows packets, but never speeds them up. */
const ATTEMPTS = 4;
/** Two jobs on six nodes take seconds, not minutes. */
const TEXT = textOf("ents-packets")
  .replace("networks: 5", "networks: 1")
  .replace("nodes: [10, 30]", "nodes: [6]")
  .replace("perNode: 0.6", "count: 2")
  .replace("{ warmUp: 10s, duration: 30s }", "{ warmUp: 4s, duration: 12s }");

it.skipIf(!support.supported)(
  `packets run as a shaped plan says${support.supported ? "" : `: ${support.reason}`}`,
  async () => {
    const options = { quick: false, grounds: ["lab"], contenders: ["tp", "joint"] } as const;
    const run = (out: string) => conductText("ents-packets", { ...options, out }, TEXT);
    let ratio = 0;
    let out = "";
    for (let attempt = 0; attempt < ATTEMPTS && ratio <= 0.95; attempt++) {
      out = outFolder();
      expect(await run(out)).toMatchObject({ cells: 2, measured: 2, failed: 0 });
      const stored = readFileSync(join(out, "ents-packets", "packets.jsonl"), "utf8")
        .trim()
        .split("\n");
      const shaped = stored.map((line) => JSON.parse(line)).find(({ contender }) => contender === "joint");
      ratio = shaped.measured / shaped.predicted;
      expect(ratio).toBeLessThan(1.05);
    }
    expect(ratio).toBeGreaterThan(0.95);
    const again = await run(out);
    expect(again).toMatchObject({ cells: 2, measured: 0 });
    expect(readFileSync(again.files.html, "utf8")).toContain("packets / packets of tp");
  },
  240_000,
);
