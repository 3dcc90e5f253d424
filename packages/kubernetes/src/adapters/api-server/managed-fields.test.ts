import { array, assert, constantFrom, jsonValue, property, record, string } from "fast-check";
import { describe, expect, it } from "vitest";

import { parsedWithoutManagedFields, withoutManagedFields } from "./managed-fields.ts";

const stripped = (value: unknown): unknown =>
  JSON.parse(withoutManagedFields(Buffer.from(JSON.stringify(value))).toString());

describe("withoutManagedFields", () => {
  it("empties the lists of every object and touches nothing else, whatever is in them", () => {
    const anything = jsonValue();
    const item = record({ spec: anything, fields: array(anything), after: anything });
    assert(
      property(array(item), (items) => {
        const list = (keep: boolean): unknown => ({
          items: items.map(({ spec, fields, after }) => ({
            metadata: { name: "n", managedFields: keep ? fields : [], after },
            spec: rid(spec),
          })),
        });
        expect(stripped(list(true))).toEqual(JSON.parse(JSON.stringify(list(false))));
      }),
    );
  });

  it("is not misled by brackets and quotes in texts, nor by the key in one", () => {
    const text = '"managedFields":[ ] \\" [';
    const value = { note: text, metadata: { managedFields: [{ 'k:{"type":"]"}': text }] }, end: [text] };
    expect(stripped(value)).toEqual({ ...value, metadata: { managedFields: [] } });
  });

  it("leaves a text that breaks off as it is", () => {
    for (const text of ['{"managedFields":[{"a":"b', '{"managedFields":[[]', '{"managedFields":["a\\'])
      expect(withoutManagedFields(Buffer.from(text)).toString()).toBe(text);
  });
});

describe("parsedWithoutManagedFields", () => {
  const entries = array(
    record({
      // Includes texts that look like the end of a list.
      manager: string({
        unit: constantFrom("a", '"', "\\", "{", "}", "[", "]", ",", ":", "}]", "}]}", "}],"),
      }),
      fieldsV1: jsonValue(),
      operation: string(),
    }),
    { maxLength: 4 },
  );

  it("says the same as the whole text with the lists emptied, whatever stands in their texts", () => {
    const item = record({ spec: jsonValue(), fields: entries, name: string() });
    assert(
      property(array(item, { maxLength: 4 }), (items) => {
        const list = (keep: boolean): unknown => ({
          items: items.map(({ spec, fields, name }) => ({
            metadata: { name, managedFields: keep ? fields : [] },
            spec: rid(spec),
          })),
        });
        const text = Buffer.from(JSON.stringify(list(true)));
        expect(parsedWithoutManagedFields(text)).toEqual(JSON.parse(JSON.stringify(list(false))));
      }),
      { numRuns: 2_000 },
    );
  });

  it("refuses what is no JSON", () => {
    for (const text of ["", '{"managedFields":[{"manager":"', '{"managedFields":[{"manager":"a"}]'])
      expect(() => parsedWithoutManagedFields(Buffer.from(text))).toThrow(SyntaxError);
  });
});

function rid(value: unknown): unknown {
  return JSON.stringify(value).includes('"managedFields":[') ? null : value;
}
