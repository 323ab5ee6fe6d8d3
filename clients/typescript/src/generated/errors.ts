// Written by scripts/typescript.py: make client-typescript. Change what it reads, not this.

import { RicordoError } from "../errors.js";

/** The caller may see this but not do it. */
export class AccessDenied extends RicordoError {}

/** The request is understood, but the present state does not allow it. */
export class Conflict extends RicordoError {}

/** The text could not be turned into a vector. */
export class EmbeddingError extends RicordoError {}

/** A file of the home folder cannot be read or written; the message names it and says why. */
export class FilesUnavailable extends RicordoError {}

/** The keys of another authorisation server cannot be read. */
export class IssuerUnavailable extends RicordoError {}

/** The language model gave no usable answer. */
export class LanguageModelError extends RicordoError {}

/** The database could not do it. Nothing of the failed write is stored. */
export class StorageError extends RicordoError {}

/** The rate limit is exceeded; `retry_after` is in seconds. */
export class TooManyRequests extends RicordoError {}

/** The proposal was approved or rejected before, or its time has passed. */
export class AlreadyDecided extends Conflict {}

/** The language model answered, but not in the shape that was asked for. */
export class BadAnswer extends LanguageModelError {}

/** The embedder answered with something that is not one usable vector per text. */
export class BadEmbedding extends EmbeddingError {}

/** The tokens that a user's work may take in a day do not suffice; `until` says when to
go on. */
export class BudgetExhausted extends LanguageModelError {}

/** The agent may not read this category; the message lists what it may. Nothing was read. */
export class CategoryNotAllowed extends AccessDenied {}

/** The memory was changed since the caller last read it; nothing was written. */
export class Changed extends Conflict {}

/** The database was written by a newer version of ricordo; upgrade the package. */
export class DatabaseTooNew extends StorageError {}

/** The schema must be upgraded first, by the role that owns its tables. */
export class DatabaseTooOld extends StorageError {}

/** The embedder said no (key, model, quota, setup); trying again does not help. */
export class EmbedderRefused extends EmbeddingError {}

/** The embedder is down, slow, overloaded, or given up on for a while; try again later. */
export class EmbedderUnavailable extends EmbeddingError {}

/** The life cycle has no step from the present status to the wanted one. */
export class IllegalTransition extends Conflict {}

/** The caller sent something that is not allowed; nothing was written. */
export class InvalidInput extends RicordoError {}

/** The language model's endpoint said no (key, model, quota); trying again does not help. */
export class ModelRefused extends LanguageModelError {}

/** The language model is down, slow or overloaded; try again later. */
export class ModelUnavailable extends LanguageModelError {}

/** No key was given, or one that does not exist, was revoked or has expired. */
export class NotAuthenticated extends AccessDenied {}

/** No such thing for this user. Other users' things answer exactly the same. */
export class NotFound extends RicordoError {}

/** The memory belongs to another user; a viewer can only unlink it for itself. */
export class NotOwner extends AccessDenied {}

/** The memory was neither superseded, merged nor updated. */
export class NothingToUndo extends Conflict {}

/** Another active memory already has this key or this text. */
export class Occupied extends Conflict {}

/** The other user has turned this memory down, blocks its owner, or has too much that waits. */
export class OfferRefused extends Conflict {}

/** A conversation is of the project that it began in, and goes on there. */
export class OtherProject extends Conflict {}

/** The key is good, but not for this; the message says what it lacks. */
export class PermissionMissing extends AccessDenied {}

/** `If-Match` does not name the current state. */
export class PreconditionFailed extends Conflict {}

/** The role could read every user's rows, whatever row-level security says. */
export class RoleNotConfined extends StorageError {}

/** A scope can be narrowed, never changed to another user, agent, thread, run, actor, role or
project. */
export class ScopeWidened extends AccessDenied {}

/** The database stayed locked for longer than the busy timeout; try again. */
export class StorageBusy extends StorageError {}

/** This Memory was closed. */
export class StorageClosed extends StorageError {}

/** The file is damaged, or is not a ricordo database. */
export class StorageCorrupt extends StorageError {}

/** No space is left for the database. */
export class StorageFull extends StorageError {}

/** The database may not be written. */
export class StorageReadOnly extends StorageError {}

/** The database cannot be opened or reached. */
export class StorageUnavailable extends StorageError {}

/** A backup is restored into an empty store, unless one asks for all to be replaced. */
export class StoreNotEmpty extends Conflict {}

/** Another import or export has to finish first. */
export class TooManyTransfers extends TooManyRequests {}

/** No state is saved for this conversation. */
export class CheckpointNotFound extends NotFound {}

/** The file is encrypted with another key, or is and should not be, or is not and should be. */
export class DatabaseKeyMismatch extends StorageUnavailable {}

/** No grant with this id that this user gave a program. */
export class GrantNotFound extends NotFound {}

/** No group of that name that this user is a member of; or no such member. */
export class GroupNotFound extends NotFound {}

/** A file that cannot be imported; the message names the place. Nothing was written. */
export class ImportFailed extends InvalidInput {}

/** A file that is no backup, or one that is damaged or was changed. Nothing was restored. */
export class InvalidBackup extends InvalidInput {}

/** A paging cursor that does not belong to this call. */
export class InvalidCursor extends InvalidInput {}

/** The policy file is not valid; the message names the line, where there is one. */
export class InvalidPolicy extends InvalidInput {}

/** What came as a webhook was not signed with the secret, is too old, or was changed. */
export class InvalidSignature extends InvalidInput {}

/** One value is wrong; `field` names it and the message says what is allowed. */
export class InvalidValue extends InvalidInput {}

/** No job with this id. */
export class JobNotFound extends NotFound {}

/** No API key with this id. */
export class KeyNotFound extends NotFound {}

/** No memory with this id is visible to this user. */
export class MemoryNotFound extends NotFound {}

/** This user has no proposal with this id. */
export class ProposalNotFound extends NotFound {}

/** The body exceeds the limit. */
export class RequestTooLarge extends InvalidInput {}

/** A program's token is not good for that. */
export class ScopeMissing extends PermissionMissing {}

/** An address that a user's settings may not point to; the operator's may. */
export class TargetRefused extends InvalidInput {}

/** This user has no theme of that name. */
export class ThemeNotFound extends NotFound {}

/** This user has no thread of that name. */
export class ThreadNotFound extends NotFound {}

/** A field, filter or setting that does not exist; the message lists those that do. */
export class UnknownField extends InvalidInput {}

/** Nothing is stored for this user. */
export class UserNotFound extends NotFound {}

/** No webhook with this id of this user. */
export class WebhookNotFound extends NotFound {}

/** The errors by the `type` of a problem. */

export const ERRORS = {
  AccessDenied,
  Conflict,
  EmbeddingError,
  FilesUnavailable,
  IssuerUnavailable,
  LanguageModelError,
  StorageError,
  TooManyRequests,
  AlreadyDecided,
  BadAnswer,
  BadEmbedding,
  BudgetExhausted,
  CategoryNotAllowed,
  Changed,
  DatabaseTooNew,
  DatabaseTooOld,
  EmbedderRefused,
  EmbedderUnavailable,
  IllegalTransition,
  InvalidInput,
  ModelRefused,
  ModelUnavailable,
  NotAuthenticated,
  NotFound,
  NotOwner,
  NothingToUndo,
  Occupied,
  OfferRefused,
  OtherProject,
  PermissionMissing,
  PreconditionFailed,
  RoleNotConfined,
  ScopeWidened,
  StorageBusy,
  StorageClosed,
  StorageCorrupt,
  StorageFull,
  StorageReadOnly,
  StorageUnavailable,
  StoreNotEmpty,
  TooManyTransfers,
  CheckpointNotFound,
  DatabaseKeyMismatch,
  GrantNotFound,
  GroupNotFound,
  ImportFailed,
  InvalidBackup,
  InvalidCursor,
  InvalidPolicy,
  InvalidSignature,
  InvalidValue,
  JobNotFound,
  KeyNotFound,
  MemoryNotFound,
  ProposalNotFound,
  RequestTooLarge,
  ScopeMissing,
  TargetRefused,
  ThemeNotFound,
  ThreadNotFound,
  UnknownField,
  UserNotFound,
  WebhookNotFound,
};
