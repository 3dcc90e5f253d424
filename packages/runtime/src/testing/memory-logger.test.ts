import { expect, test } from "vitest";
import { ManualClock, MemoryLogger } from "./index.ts";

test("lines of a logger and its children stand in one list with the bound fields", () => {
  const logger = new MemoryLogger();
  logger.debug("a");
  logger.child({ node: "n" }).error("b", { code: 1 });
  expect(logger.lines).toEqual([
    { level: "debug", event: "a", fields: {} },
    { level: "error", event: "b", fields: { node: "n", code: 1 } },
  ]);
  expect(logger.events("error")).toEqual(["b"]);
});

test("a repeated warning is collected once per hour of the given clock", async () => {
  const clock = new ManualClock();
  const logger = new MemoryLogger({ clock });
  logger.warnOnce("k", "x");
  logger.warnOnce("k", "x");
  await clock.advance(3_600_000);
  logger.child({}).warnOnce("k", "x");
  expect(logger.lines.map((line) => line.fields)).toEqual([{}, { suppressed: 1 }]);
});
