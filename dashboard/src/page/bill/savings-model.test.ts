import type { SavingsOption } from "@isochrone/topology";
import { expect, test } from "vitest";
import { changeText, riskText } from "./savings-model.ts";

const option = (fields: Partial<SavingsOption>): SavingsOption => ({
  savedPerMonth: 1,
  roundTripMs: 1,
  roundTripChangeMs: null,
  zones: null,
  headroomRatio: null,
  isAdvised: true,
  reason: null,
  services: [],
  moves: [],
  commands: [],
  ...fields,
});
const MOVE = { namespace: "shop", name: "db-1", workload: "db", from: "a", to: "b" };

test("an option says its steps, and what round trips become", () => {
  expect(changeText(option({ services: ["shop/api"], roundTripChangeMs: -1.234 }))).toBe(
    "1 Service; round trip -1.2 ms",
  );
  expect(changeText(option({ services: ["a", "b"], moves: [MOVE], roundTripChangeMs: 0.5 }))).toBe(
    "2 Services, 1 move; round trip +0.5 ms",
  );
  expect(changeText(option({ moves: [MOVE] }))).toBe("1 move");
});

test("a risk that isn't known isn't said", () => {
  expect(riskText(option({ zones: 2, headroomRatio: 0.254 }))).toBe("2 zones left, 25 % CPU free");
  expect(riskText(option({ zones: 1 }))).toBe("1 zone left");
  expect(riskText(option({}))).toBe("");
});
