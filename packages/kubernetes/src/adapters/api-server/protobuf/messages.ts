import { POD_FIELDS } from "./pod-fields.ts";

const HOLDS = ["string", "bool", "int", "time", "quantity", "intOrString", "skipped", "message"] as const;
type Holds = (typeof HOLDS)[number];

export interface Field {
  readonly name: string;
  readonly holds: Holds;
  readonly shape: "one" | "list" | "map";
  /** Type of a message field. Null: not a message. */
  readonly message: Message | null;
  /** JSON shows the message's fields in the outer object. */
  readonly isInline: boolean;
  /** True if JSON omits the field when it is empty. */
  readonly isLeftOut: boolean;
}

export class Message {
  readonly name: string;
  readonly fields: (Field | undefined)[] = [];
  /** Fields that JSON writes as null if absent. */
  readonly nulls: string[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

const messages = new Map<string, Message>();

export function messageNamed(name: string): Message {
  if (messages.size === 0) readTable();
  const message = messages.get(name);
  if (message === undefined) throw new Error(`the table of binary fields has no message ${name}`);
  return message;
}

function readTable(): void {
  const lines = POD_FIELDS.replaceAll("\n ", " ").trim().split("\n");
  for (const line of lines) {
    const [name = ""] = line.split(" = ");
    messages.set(name, new Message(name));
  }
  for (const line of lines) {
    const [name = "", fields = ""] = line.split(" = ");
    for (const field of fields.split(", ")) addField(messageNamed(name), field);
  }
}

/** Syntax of a field in POD_FIELDS, such as `1:labels string{}`. */
const FIELD = /^(?<number>\d+):(?<name>\S+) (?<type>\w+)(?<shape>\[\]|\{\})?(?<mark>[?!])?$/;

function addField(to: Message, text: string): void {
  const { number, name = "", type = "", shape, mark } = FIELD.exec(text)?.groups ?? {};
  if (number === undefined) throw new Error(`the table of binary fields can't be read: ${to.name} ${text}`);
  const scalar = HOLDS.find((holds) => holds === type);
  if (mark === "!") to.nulls.push(name);
  to.fields[Number(number)] = {
    name,
    holds: scalar ?? "message",
    shape: shape === "[]" ? "list" : shape === "{}" ? "map" : "one",
    message: scalar === undefined ? messageNamed(type) : null,
    isInline: name === "...",
    isLeftOut: mark === "?",
  };
}
