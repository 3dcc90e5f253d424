import { loadSettings } from "@isochrone/runtime";
import { tooManyUnready } from "@isochrone/placement";
import { describe, expect, test } from "vitest";
import { deschedulerSettings, type DeschedulerConfig } from "./settings.ts";

describe("settings of the descheduler", () => {
  const load = (env: Readonly<Record<string, string>>): DeschedulerConfig =>
    loadSettings([deschedulerSettings], {
      env,
      onRemoved: (sentence) => {
        throw new Error(sentence);
      },
    }).descheduler;

  test("two nodes of five stop all moves, unless an operator allows it", () => {
    expect(tooManyUnready(2, 5, load({}).maxUnreadyRatio)).toBe(true);
    const { maxUnreadyRatio } = load({ ISOCHRONE_DESCHEDULER_MAX_UNREADY_RATIO: "40%" });
    expect(tooManyUnready(2, 5, maxUnreadyRatio)).toBe(false);
    expect(tooManyUnready(3, 5, maxUnreadyRatio)).toBe(true);
  });
});
