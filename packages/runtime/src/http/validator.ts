// Loaded only by servers whose routes have schemas: typebox takes ten megabytes.
import type { FastifyInstance } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

const MAX_MISTAKES = 8;

/**
 * Validates by typebox. Query, path and headers are text and are converted to the types of the schema; in a
 * body a wrong type is a mistake ("5" is no number).
 */
export function installValidation(app: FastifyInstance): void {
  app.setValidatorCompiler<TSchema>(({ schema, httpPart }) => {
    const check = Compile(schema);
    return (raw: unknown) => {
      const complete: unknown = Value.Default(schema, raw);
      const value: unknown = httpPart === "body" ? complete : Value.Convert(schema, complete);
      if (check.Check(value)) return { value };
      return { error: check.Errors(value).slice(0, MAX_MISTAKES) as never };
    };
  });
}
