import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namespaceLabSupport } from "@isochrone/lab/namespaces";
import { expect, it, onTestFinished } from "vitest";
import { scenarioFile } from "../scenario/catalogue.ts";
import { conductStreams } from "./conduct.ts";

const support = await namespaceLabSupport();

/** Two jobs on six nodes: seconds, not minutes. */
const TEXT = readFileSync(scenarioFile("ents-packets")!, "utf8")
  .replace("networks: 5", "networks: 1")
  .replace("nodes: [10, 30]", "nodes: [6]")
  .replace("count: 6", "count: 2")
  .replace("{ warmUp: 10s, duration: 30s }", "{ warmUp: 4s, duration: 12s }");

it.skipIf(!support.supported)(
  `packets run as a shaped plan says${support.supported ? "" : `: ${support.reason}`}`,
  async () => {
    const out = mkdtempSync(join(tmpdir(), "isochrone-packets-"));
    onTestFinished(() => rmSync(out, { recursive: true }));
    const run = () =>
      conductStreams(TEXT, {
        file: "ents-packets.yaml",
        quick: false,
        only: {},
        jobs: 1,
        grounds: ["lab"],
        contenders: ["tp", "joint"],
        command: "",
        out,
        onProgress: () => {},
        signal: new AbortController().signal,
      });
    expect(await run()).toMatchObject({ cells: 2, measured: 2, failed: 0 });
    const stored = readFileSync(join(out, "ents-packets", "packets.jsonl"), "utf8")
      .trim()
      .split("\n");
    const shaped = stored.map((line) => JSON.parse(line)).find(({ contender }) => contender === "joint");
    expect(shaped.measured / shaped.predicted).toBeGreaterThan(0.95);
    expect(shaped.measured / shaped.predicted).toBeLessThan(1.05);
    const again = await run();
    expect(again).toMatchObject({ cells: 2, measured: 0 });
    expect(readFileSync(again.files.html, "utf8")).toContain("packets / packets of tp");
  },
  120_000,
);
