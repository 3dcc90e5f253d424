// Parses JSON of kernel tools. Unexpected content is an error: a misread kernel must not be changed.
import { parseJson } from "@isochrone/primitives";
import { KernelError } from "../../ports/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Parses a JSON list; `ip` and `tc` print nothing for an empty one. */
export function arrayOf(text: string, subject: string): readonly unknown[] {
  return text.trim() === "" ? [] : listOf(parsed(text, subject), subject);
}

export function listOf(value: unknown, subject: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(subject, "be a list", value);
}

export function parsed(text: string, subject: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const message = `${subject} must print JSON, got ${JSON.stringify(text.slice(0, 80))}`;
    throw new KernelError("not_understood", message, { cause: error });
  }
}

export function objectOf(value: unknown, subject: string): Fields {
  return isFields(value) ? value : refuse(subject, "be an object", value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

export function textOf(value: unknown, subject: string): string {
  return typeof value === "string" ? value : refuse(subject, "be text", value);
}

export function numberOf(value: unknown, subject: string): number {
  return typeof value === "number" ? value : refuse(subject, "be a number", value);
}

function refuse(subject: string, rule: string, value: unknown): never {
  throw new KernelError(
    "not_understood",
    `${subject} must ${rule}, got ${JSON.stringify(value)?.slice(0, 80)}`,
  );
}
