"""Datasets, with CKAN's members: returned by a portal's own function, or one for each resource."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import ClassVar, Final

from django.utils.text import slugify

from ...models import LocalText, Resource, Translations
from ...models.translations import choose_text

_NAMESPACE: Final = uuid.UUID("3a4d6d0e-9c0c-5d0e-8f1e-6a7f0a1f2c11")

#: The texts of a resource, by the names that a dataset has for them.
_TEXTS_OF_RESOURCE: Final = {"title": "title", "description": "notes"}


@dataclass(frozen=True, slots=True)
class Group:
    """A group of datasets; ``name`` is for URLs, and ``id`` is derived from it if not given."""

    name: str
    title: str = ""
    description: str = ""
    image_url: str = ""
    id: str = ""

    #: CKAN's type of group.
    kind: ClassVar[str] = "group"

    @property
    def shown_title(self) -> str:
        """The title, or the name where there is none."""
        return self.title or self.name

    @property
    def shown_id(self) -> str:
        """The id, or one derived from the name."""
        return self.id or build_id(f"{self.kind}/{self.name}")


@dataclass(frozen=True, slots=True)
class Organization(Group):
    """An organization that publishes datasets."""

    kind: ClassVar[str] = "organization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """
    A dataset: ``resources`` are the ids of its resources in order.

    Only users who may read one of its resources see it, and only these resources, unless
    ``is_public``: then everyone sees it.  Missing times are taken from the visible resources.
    ``title`` and ``notes`` are in ``content_language``; ``translations`` map the codes of other
    languages to ``title`` and ``notes``.  ``url`` is the source of the data.
    """

    id: str
    name: str
    resources: Sequence[uuid.UUID] = ()
    title: str = ""
    notes: str = ""
    content_language: str = ""
    translations: Translations = field(default_factory=dict)
    is_public: bool = False
    organization: Organization | None = None
    groups: Sequence[Group] = ()
    tags: Sequence[str] = ()
    license: str = ""
    url: str = ""
    version: str = ""
    author: str = ""
    author_email: str = ""
    maintainer: str = ""
    maintainer_email: str = ""
    frequency: str = ""
    spatial: str = ""
    temporal_start: date | None = None
    temporal_end: date | None = None
    metadata_created: datetime | None = None
    metadata_modified: datetime | None = None
    extras: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse ids and times that cannot be compared with a resource's."""
        if not all(isinstance(each, uuid.UUID) for each in self.resources):
            raise TypeError("The resources of a dataset are named by UUIDs.")
        times = (self.metadata_created, self.metadata_modified)
        if any(moment is not None and moment.tzinfo is None for moment in times):
            raise TypeError("The times of a dataset need a time zone.")

    @property
    def local_title(self) -> LocalText:
        """The title for the active language; the name where there is none."""
        title = choose_text("title", self.title, self.translations, self.content_language)
        return title if title.text else LocalText(self.name)

    @property
    def local_notes(self) -> LocalText:
        """The notes for the active language."""
        return choose_text("notes", self.notes, self.translations, self.content_language)


@dataclass(frozen=True, slots=True)
class ListedDataset:
    """A dataset as a user sees it: with the resources that the user may read, in order."""

    dataset: Dataset
    resources: Sequence[Resource]
    is_private: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a resource: the id of its dataset, and its number within that."""

    dataset_id: str
    position: int


def make_dataset(resource: Resource) -> ListedDataset:
    """Make a dataset of a single resource."""
    publisher = resource.publisher
    dataset = Dataset(
        id=str(resource.pk),
        name=resource.name,
        resources=(resource.pk,),
        title=resource.title,
        notes=resource.description,
        content_language=resource.content_language,
        translations={
            language: {_TEXTS_OF_RESOURCE[name]: text for name, text in texts.items()}
            for language, texts in resource.translations.items()
        },
        organization=Organization(build_publisher_name(publisher), publisher)
        if publisher
        else None,
        tags=sorted(resource.tags),
        license=resource.license,
        url=resource.source,
        version=resource.version_date.isoformat() if resource.version_date else "",
        author=publisher,
        maintainer=resource.contact,
        maintainer_email=resource.contact_email,
        frequency=resource.frequency,
        spatial=resource.spatial,
        temporal_start=resource.temporal_start,
        temporal_end=resource.temporal_end,
        metadata_created=resource.created_at,
        metadata_modified=resource.modified_at,
    )
    return ListedDataset(dataset, [resource], resource.private)


@lru_cache(maxsize=2_000)
def build_publisher_name(publisher: str) -> str:
    """Build the name of a publisher for URLs; a digest if no character can be used."""
    return slugify(publisher)[:100] or uuid.uuid5(_NAMESPACE, publisher).hex


def build_publisher_id(publisher: str) -> str:
    """Build the id of a publisher; all spellings of a name have the same id."""
    return build_id(f"organization/{build_publisher_name(publisher)}")


def build_id(name: str) -> str:
    """Build an id from a name."""
    return str(uuid.uuid5(_NAMESPACE, name))
