import { describe, expect, test } from "vitest";
import { labelSelector, nodeSelector, withLabels } from "./selectors.ts";

const LABELS = { app: "web", tier: "front", cores: "8" };
const byExpression = (key: string, operator: string, ...values: string[]): boolean | undefined =>
  labelSelector({ matchExpressions: [{ key, operator, values }] })?.matches(LABELS);

describe("label selectors", () => {
  test("none matches nothing, an empty one everything", () => {
    expect(labelSelector(undefined)).toMatchObject({ matchesAll: false });
    expect(labelSelector(undefined)!.matches(LABELS)).toBe(false);
    expect(labelSelector(null)!.matches({})).toBe(false);
    expect(labelSelector({})).toMatchObject({ matchesAll: true });
    expect(labelSelector({})!.matches({})).toBe(true);
  });

  test("labels and expressions are all to hold", () => {
    const selector = labelSelector({
      matchLabels: { app: "web" },
      matchExpressions: [{ key: "tier", operator: "In", values: ["front", "back"] }],
    })!;
    expect(selector.matches(LABELS)).toBe(true);
    expect(selector.matches({ app: "web" })).toBe(false);
    expect(selector.matches({ tier: "front" })).toBe(false);
  });

  test("expressions", () => {
    expect(byExpression("app", "In", "web", "db")).toBe(true);
    expect(byExpression("none", "In", "web")).toBe(false);
    expect(byExpression("app", "NotIn", "db")).toBe(true);
    expect(byExpression("none", "NotIn", "web")).toBe(true);
    expect(byExpression("app", "Exists")).toBe(true);
    expect(byExpression("toString", "Exists")).toBe(false);
    expect(byExpression("app", "DoesNotExist")).toBe(false);
  });

  test("what is not valid is told", () => {
    expect(byExpression("app", "In")).toBeUndefined();
    expect(byExpression("app", "Exists", "web")).toBeUndefined();
    expect(byExpression("cores", "Gt", "4")).toBeUndefined();
    expect(byExpression("app", "Like", "web")).toBeUndefined();
  });

  test("labels are added to all but the one that matches nothing", () => {
    expect(withLabels(labelSelector({})!, { app: "web" }).matches(LABELS)).toBe(true);
    expect(withLabels(labelSelector({})!, { app: "db" }).matches(LABELS)).toBe(false);
    expect(withLabels(labelSelector(undefined)!, { app: "web" }).matches(LABELS)).toBe(false);
    expect(
      withLabels(labelSelector({ matchLabels: { tier: "front" } })!, { app: "web" }).matches(LABELS),
    ).toBe(true);
  });
});

describe("node selectors", () => {
  const node = { name: "n1", labels: LABELS };
  const matches = (...terms: object[]): boolean => nodeSelector({ nodeSelectorTerms: terms })(node);
  const expression = (key: string, operator: string, ...values: string[]): object => ({
    matchExpressions: [{ key, operator, values }],
  });
  const name = (operator: string, ...values: string[]): object => ({
    matchFields: [{ key: "metadata.name", operator, values }],
  });

  test("terms are alternatives, an empty one none", () => {
    expect(matches()).toBe(false);
    expect(matches({})).toBe(false);
    expect(matches(expression("app", "In", "db"), expression("app", "In", "web"))).toBe(true);
    expect(matches({ ...expression("app", "In", "web"), ...name("In", "n2") })).toBe(false);
  });

  test("numbers are compared as numbers, labels that are none never match", () => {
    expect(matches(expression("cores", "Gt", "7"))).toBe(true);
    expect(matches(expression("cores", "Gt", "8"))).toBe(false);
    expect(matches(expression("cores", "Lt", "16"))).toBe(true);
    expect(matches(expression("app", "Gt", "1"))).toBe(false);
    expect(matches(expression("none", "Lt", "1"))).toBe(false);
    expect(matches(expression("cores", "Gt", "-9223372036854775808"))).toBe(true);
    expect(matches(expression("cores", "Gt", "-9223372036854775809"))).toBe(false);
    expect(matches(expression("cores", "Gt", "7.5"))).toBe(false);
  });

  test("names are compared one at a time; of a volume they don't count", () => {
    expect(matches(name("In", "n1"))).toBe(true);
    expect(matches(name("NotIn", "n1"))).toBe(false);
    expect(matches(name("In", "n1", "n2"))).toBe(false);
    expect(matches(name("Exists"))).toBe(false);
    expect(nodeSelector({ nodeSelectorTerms: [name("In", "n2")] }, false)(node)).toBe(true);
  });
});
