import { describe, expect, test } from "vitest";
import { loadNetPing } from "./module.ts";

describe("net-ping's module", () => {
  test("one that isn't there is said to be not installed, and nothing more", async () => {
    await expect(loadNetPing("net-ping-not-there")).rejects.toThrow(/^net-ping-not-there is not installed$/);
  });

  test("one that is there but broken is told from that", async () => {
    const broken = "data:text/javascript,throw new Error('no native part was built')";
    await expect(loadNetPing(broken)).rejects.toThrow(/can't be loaded: no native part was built$/);
  });
});
