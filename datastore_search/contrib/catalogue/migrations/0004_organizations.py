"""Organizations and groups that have members, and the organizations that own datasets."""

from typing import Final

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from datastore_search.database.migration_statements import lock_tables

_LOCK: Final = lock_tables("datastore_search_catalogue_dataset")


class Migration(migrations.Migration):
    """Create the tables, and add the owner to datasets."""

    dependencies = [
        ("datastore_search_catalogue", "0003_published"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        _LOCK,
        migrations.CreateModel(
            name="MemberGroup",
            fields=[
                (
                    "id",
                    models.CharField(
                        editable=False, max_length=100, primary_key=True, serialize=False
                    ),
                ),
                (
                    "is_organization",
                    models.BooleanField(
                        default=True,
                        help_text="Organizations own datasets; groups collect datasets by theme.",
                        verbose_name="is an organization",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        error_messages={"unique": "Group name already exists in database"},
                        help_text=(
                            "Short, for addresses: lowercase letters, digits, hyphens and "
                            "underscores."
                        ),
                        max_length=100,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9_-]*\\Z",
                                "Must be purely lowercase alphanumeric (ascii) characters and "
                                "these symbols: -_",
                            ),
                            django.core.validators.MinLengthValidator(
                                2, "Must be at least 2 characters long"
                            ),
                        ],
                        verbose_name="name",
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=300, verbose_name="title")),
                ("description", models.TextField(blank=True, verbose_name="description")),
                (
                    "image_url",
                    models.URLField(
                        blank=True, max_length=500, verbose_name="address of a picture"
                    ),
                ),
                ("extras", models.JSONField(blank=True, default=dict, editable=False)),
                ("is_deleted", models.BooleanField(default=False, verbose_name="is deleted")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
            ],
            options={
                "verbose_name": "organization or group",
                "verbose_name_plural": "organizations and groups",
                "ordering": ("name",),
            },
        ),
        migrations.AddField(
            model_name="dataset",
            name="owner_org",
            field=models.ForeignKey(
                blank=True,
                limit_choices_to={"is_deleted": False, "is_organization": True},
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="datasets",
                to="datastore_search_catalogue.membergroup",
                verbose_name="organization",
            ),
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("admin", "admin: manages the members, too"),
                            ("editor", "editor: adds, changes and deletes datasets"),
                            ("member", "member: sees private datasets"),
                        ],
                        default="member",
                        max_length=20,
                        verbose_name="role",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="datastore_search_catalogue.membergroup",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="user",
                    ),
                ),
            ],
            options={
                "verbose_name": "member",
                "verbose_name_plural": "members",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "user"), name="datastore_search_catalogue_member"
                    )
                ],
            },
        ),
        _LOCK,
    ]
