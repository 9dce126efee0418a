/** What `interrupt(...)` was given, as something that a person can answer: a text, buttons, a form. */
import type { Json } from '../api/types';
import { isObject } from './checking';
import { fieldsOf, nameOf, type Field, type JsonSchema } from './fields';

export interface Choice {
  label: string;
  /** What the run is answered. */
  value: unknown;
}

export interface Question {
  /** Markdown; empty where nothing in it is a text. */
  text: string;
  /** What else stands beside it. */
  details: Json;
  choices: Choice[];
  /** A form, and what the run is answered for what it holds. */
  form: { field: Field; answer: (value: unknown) => unknown } | null;
}

/** The keys under which texts, choices and schemas stand, by how they are commonly called; the first that fits counts. */
const TEXTS = ['question', 'message', 'prompt', 'text', 'description', 'instructions', 'title', 'content'];
const CHOICES = ['options', 'choices', 'enum', 'actions', 'buttons', 'allowed_decisions'];
const SCHEMAS = ['schema', 'json_schema', 'response_schema', 'answer_schema', 'input_schema', 'form'];

export function questionOf(value: unknown): Question {
  if (!isObject(value)) {
    return { text: typeof value === 'string' ? value : '', details: typeof value === 'string' || value === null ? {} : { value }, choices: [], form: null };
  }
  if (Array.isArray(value.action_requests)) return reviewOf(value, value.action_requests.filter(isObject));
  const textKey = TEXTS.find((key) => typeof value[key] === 'string');
  const choiceKey = CHOICES.find((key) => Array.isArray(value[key]) && value[key].length > 0);
  const schemaKey = SCHEMAS.find((key) => isSchema(value[key]));
  const used = [textKey, choiceKey, schemaKey];
  const schema = schemaKey === undefined ? null : (value[schemaKey] as JsonSchema);
  const fromSchema = schema ? ofSchema(schema) : { choices: [], form: null };
  return {
    text: textKey === undefined ? '' : String(value[textKey]),
    details: Object.fromEntries(Object.entries(value).filter(([key]) => !used.includes(key))),
    choices: choiceKey === undefined ? fromSchema.choices : (value[choiceKey] as unknown[]).map(choiceOf),
    form: fromSchema.form,
  };
}

const isSchema = (value: unknown): boolean => isObject(value) && ['type', 'properties', 'enum', 'anyOf', 'oneOf', '$ref'].some((key) => key in value);

function choiceOf(one: unknown): Choice {
  if (!isObject(one)) return { label: labelOf(one), value: one };
  const label = one.label ?? one.title ?? one.name ?? one.value ?? one.id;
  return { label: labelOf(label ?? one), value: 'value' in one ? one.value : (one.id ?? one.name ?? one) };
}
const labelOf = (value: unknown): string => (value === true ? 'Yes' : value === false ? 'No' : nameOf(value));

function ofSchema(schema: JsonSchema): Pick<Question, 'choices' | 'form'> {
  const field = fieldsOf(schema);
  const none = field.nullable ? [null] : [];
  if (field.kind === 'boolean') return { choices: [true, false, ...none].map(choiceOf), form: null };
  if (field.kind === 'choice') return { choices: [...field.choices, ...none].map((value) => ({ ...choiceOf(value), label: field.names?.[JSON.stringify(value)] || choiceOf(value).label })), form: null };
  if (field.kind === 'object') return { choices: [], form: { field, answer: (value) => value } };
  const { $defs, definitions, ...answer } = schema;
  const whole: JsonSchema = { type: 'object', properties: { answer }, required: ['answer'], $defs, definitions };
  return { choices: [], form: { field: fieldsOf(whole), answer: (value) => (isObject(value) ? value.answer : value) } };
}

/** Calls of tools that LangChain's middleware holds until a person agrees. */
function reviewOf(value: Json, requests: Json[]): Question {
  const configs = Array.isArray(value.review_configs) ? value.review_configs.filter(isObject) : [];
  const allowed = (request: Json): string[] => {
    const found = configs.find((config) => config.action_name === request.name)?.allowed_decisions;
    // An edit needs the call written anew: that goes in words of one's own.
    return (Array.isArray(found) ? found.map(String) : ['approve', 'reject']).filter((decision) => decision === 'approve' || decision === 'reject');
  };
  const text = requests.map((request) => String(request.description ?? `May it call \`${String(request.name)}\`?`)).join('\n\n');
  const details = Object.fromEntries(requests.map((request, index) => [requests.length > 1 ? `${index + 1} ${String(request.name)}` : String(request.name), request.args]));
  const [only] = requests;
  if (requests.length === 1 && only) {
    return { text, details, choices: allowed(only).map((type) => ({ label: labelled(type), value: { decisions: [{ type }] } })), form: null };
  }
  const properties = Object.fromEntries(requests.map((request, index) => [String(index), { title: `${index + 1} ${String(request.name)}`, enum: allowed(request) }]));
  const field = fieldsOf({ type: 'object', properties, required: Object.keys(properties) });
  const answer = (given: unknown): unknown => ({ decisions: requests.map((_, index) => ({ type: isObject(given) ? given[String(index)] : 'reject' })) });
  return { text, details, choices: [], form: { field, answer } };
}
const labelled = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** As what JSON that was typed is understood. */
export function meaningOf(value: unknown): string {
  if (value === null) return 'as nothing (null)';
  if (typeof value === 'object') return Array.isArray(value) ? 'as a list' : 'as an object';
  if (typeof value === 'string') return 'as the text within the quotes';
  return `as the ${typeof value === 'boolean' ? 'truth value' : 'number'} ${String(value)}`;
}
