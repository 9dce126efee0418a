/** Keeps follow-up questions in one conversation, for workflows that have conversations. */
import type { Json } from '../api/types';
import { isObject } from './checking';
import { fieldsOf, type FieldOf, type JsonSchema } from './fields';

const BYTES = 12;

/** Whether a workflow's input names a conversation. */
export function hasConversations(schema: JsonSchema): boolean {
  const form = fieldsOf(schema);
  const context = form.kind === 'object' ? form.fields.find((field) => field.key === 'user_context') : undefined;
  return context?.kind === 'object' && (context as FieldOf<'object'>).fields.some((field) => field.key === 'conversation_id');
}

/** The input without the name that it was given here: it begins a conversation of its own. */
export function outOfConversation(input: Json): Json {
  const { user_context: context, ...rest } = input;
  if (!isObject(context) || !/^[0-9a-f]{24}$/.test(String(context.conversation_id))) return input;
  const { conversation_id: _, ...others } = context;
  return Object.keys(others).length ? { ...rest, user_context: others } : rest;
}

/** The input with the name of a conversation: its own, else a new one. */
export function inConversation(input: Json): Json {
  const context = isObject(input.user_context) ? input.user_context : {};
  if (context.conversation_id) return input;
  // `crypto.randomUUID` is there on secure addresses alone.
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { ...input, user_context: { ...context, conversation_id: id } };
}
