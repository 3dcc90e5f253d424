// Audits the demo under faults: all statements of terminal, API and metrics must be true.
import { expect, test } from "vitest";
import { auditDemo } from "../harness/audit/audit-demo.ts";
import { findingLine } from "../harness/audit/findings.ts";
import { hasBrowser } from "../harness/browser.ts";

const seed = Number(process.env["ISOCHRONE_TEST_SEED"] ?? 1);
/** Includes the drawn fault. The soak `audit` runs for ten minutes. */
const DURATION_MS = 60_000;
/** On an idle machine the first pod moves after one or two minutes. */
const MOVES_WITHIN_MS = 480_000;
const PATIENCE_MS = 900_000;

test(
  `every statement of the demo is true while links slow down, lose packets and heal, seed ${seed}`,
  async () => {
    const result = await auditDemo({
      seed,
      durationMs: DURATION_MS,
      faults: 1,
      movesWithinMs: MOVES_WITHIN_MS,
      args: ["--acts", "spread", "plan", "live", "--window", "15s"],
      page: hasBrowser,
      log: (text) => console.log(text),
    });
    const { checked, faults, movedPods, replacedInPlace } = result;
    console.log(JSON.stringify({ checked, faults, movedPods, replacedInPlace }));
    expect(faults).toHaveLength(2);
    // Without moves and statements the test proves nothing.
    expect(movedPods, `pods that moved while the demo said:\n${result.said}`).toBeGreaterThan(0);
    const moves = ["moved", "api outcome"];
    const kinds = ["placed", "verdict", "proposal", ...moves, "api dead", "metrics counted moves"];
    for (const kind of hasBrowser ? [...kinds, "page best plan", "page end to end"] : kinds)
      expect(checked[kind], `statements of ${kind}`).toBeGreaterThan(0);
    expect(result.findings.map(findingLine)).toEqual([]);
    expect(replacedInPlace).toBe(0);
  },
  PATIENCE_MS,
);
