import { POD_FIELDS } from "./pod-fields.ts";

/** What a field holds; all but messages are shown as a text, a number or a boolean. */
const HOLDS = ["string", "bool", "int", "time", "quantity", "intOrString", "skipped", "message"] as const;
type Holds = (typeof HOLDS)[number];

export interface Field {
  readonly name: string;
  readonly holds: Holds;
  readonly shape: "one" | "list" | "map";
  /** Of a message its type. */
  readonly message: Message | null;
  /** The message's fields stand in the outer one. */
  readonly isInline: boolean;
  /** JSON leaves the value out when it is empty. */
  readonly isLeftOut: boolean;
}

/** A type of message: its fields by their numbers. */
export class Message {
  readonly name: string;
  readonly fields: (Field | undefined)[] = [];
  /** Fields that JSON has as null when they are absent. */
  readonly nulls: string[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

const messages = new Map<string, Message>();

/** Throws when the table has none of the name. */
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

/** `1:labels string{}`, see POD_FIELDS. */
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
