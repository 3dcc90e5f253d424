import type { KubernetesObject } from "@isochrone/kubernetes";
import { expect, test } from "vitest";
import { narrowings } from "./narrowing.ts";

type Schema = Readonly<Record<string, unknown>>;

function definition(
  schema: Schema,
  more: Schema = {},
  names = { plural: "things", kind: "Thing" },
): KubernetesObject {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: { scope: "Namespaced", names, versions: [version] },
  };
}

const object = (properties: Schema, more: Schema = {}): Schema => ({ type: "object", properties, ...more });
const text = { type: "string" };

test("what is wider, or the same, takes nothing away", () => {
  const old = definition(
    object(
      { a: { ...text, maxLength: 5, enum: ["x"] }, b: { type: "array", items: text } },
      { required: ["a"] },
    ),
  );
  const next = definition(
    object({ a: { ...text, maxLength: 9, enum: ["x", "y"] }, b: { type: "array", items: text }, c: text }),
    { subresources: { status: {} } },
  );
  expect(narrowings(old, old)).toEqual([]);
  expect(narrowings(old, next)).toEqual([]);
});

test.each<[string, Schema, Schema, string]>([
  ["a field that goes", { a: text, b: text }, { a: text }, "v1.b: is gone"],
  [
    "a field of items that goes",
    { a: { type: "array", items: object({ b: text }) } },
    { a: { type: "array", items: object({}) } },
    "v1.a[].b: is gone",
  ],
  [
    "a field of a table's values",
    { a: { additionalProperties: object({ b: text }) } },
    { a: { additionalProperties: object({}) } },
    "v1.a.*.b: is gone",
  ],
  ["another type", { a: text }, { a: { type: "integer" } }, 'v1.a: is "integer" and was "string"'],
  ["a lower limit", { a: { maximum: 9 } }, { a: { maximum: 8 } }, "v1.a: maximum is 8 and was 9"],
  ["a new limit", { a: text }, { a: { ...text, maxLength: 3 } }, "v1.a: maxLength is 3 and was nothing"],
  ["a higher floor", { a: { minimum: 1 } }, { a: { minimum: 2 } }, "v1.a: minimum is 2 and was 1"],
  [
    "another pattern",
    { a: { ...text, pattern: "a" } },
    { a: { ...text, pattern: "b" } },
    'v1.a: pattern is "b" and was "a"',
  ],
  [
    "a value that goes",
    { a: { enum: ["x", "y"] } },
    { a: { enum: ["x"] } },
    'v1.a: "y" is no longer allowed',
  ],
  ["values that are counted", { a: text }, { a: { ...text, enum: ["x"] } }, 'v1.a: only ["x"] are allowed'],
  [
    "a field that is demanded",
    { a: object({ b: text }) },
    { a: object({ b: text }, { required: ["b"] }) },
    'v1.a: "b" is required and was not',
  ],
  [
    "a rule",
    { a: text },
    { a: { ...text, "x-kubernetes-validations": [{ rule: "self != ''" }] } },
    `v1.a: new rule {"rule":"self != ''"}`,
  ],
  ["null", { a: { ...text, nullable: true } }, { a: text }, "v1.a: null is no longer allowed"],
  [
    "unknown fields",
    { a: { "x-kubernetes-preserve-unknown-fields": true } },
    { a: {} },
    "v1.a: unknown fields are no longer kept",
  ],
])("taking away %s is found", (_, before, after, found) => {
  expect(narrowings(definition(object(before)), definition(object(after)))).toEqual([found]);
});

test("versions, subresources and names count", () => {
  const plain = definition(object({}));
  expect(narrowings(plain, definition(object({}), { name: "v2" }))).toEqual(["v1: is gone"]);
  expect(narrowings(plain, definition(object({}), { served: false }))).toEqual(["v1: is no longer served"]);
  expect(narrowings(definition(object({}), { subresources: { status: {} } }), plain)).toEqual([
    "v1: the subresource status is gone",
  ]);
  expect(narrowings(plain, definition(object({}), {}, { plural: "things", kind: "Other" }))).toEqual([
    "spec: is Namespaced things Other and was Namespaced things Thing",
  ]);
});
