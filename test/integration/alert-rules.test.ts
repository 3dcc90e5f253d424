// The alert rules as Prometheus itself judges them, and their metric names against those that the probe has.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { METRIC_NAMES } from "@isochrone/probe";
import { describe, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../helm/isochrone/rules");
const installed = spawnSync("promtool", ["--version"]).status === 0;
// Under CI a missing tool is a failure of the set-up, not a reason to skip.
const canRun = installed || process.env["CI"] === "true";
const files = readdirSync(folder);
const rules = files.filter((name) => name.endsWith(".rules.yaml"));
const tests = files.filter((name) => name.endsWith(".rules.test.yaml"));

function promtool(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { cwd: folder, encoding: "utf8" });
  return { status, output: error?.message ?? `${stdout}${stderr}` };
}

describe("alert rules", () => {
  test("there are some, each file with tests", () => {
    expect(rules.length).toBeGreaterThan(0);
    expect(tests).toEqual(rules.map((name) => name.replace(".rules.yaml", ".rules.test.yaml")));
  });

  test.runIf(canRun)("promtool takes the rules and passes their tests", () => {
    const checked = promtool("check", "rules", ...rules);
    expect(checked.output).toContain("SUCCESS");
    expect(checked.status).toBe(0);
    const tested = promtool("test", "rules", ...tests);
    expect(tested.output).not.toContain("FAILED");
    expect(tested.status).toBe(0);
  });

  test("every metric in a rule is one that a probe publishes, and every alert is tested", () => {
    const known = new Set<string>(Object.values(METRIC_NAMES));
    for (const name of rules) {
      const text = readFileSync(join(folder, name), "utf8");
      const used = new Set(text.match(/\bisochrone_[a-z_]+/g));
      for (const metric of used) expect([...known]).toContain(metric.replace(/_(bucket|sum|count)$/, ""));
      const testText = readFileSync(join(folder, name.replace(".rules.yaml", ".rules.test.yaml")), "utf8");
      for (const [, alert] of text.matchAll(/- alert: (\w+)/g))
        expect(testText).toContain(`alertname: ${alert}`);
    }
  });
});
