// Loaded only by servers with schemas: typebox takes 10 MB.
import type { FastifyInstance } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Value } from "typebox/value";

const MAX_MISTAKES = 8;

/** Converts query, path and headers from text; a body must have the exact types ("5" isn't a number). */
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
